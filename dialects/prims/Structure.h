//===- Structure.h - generators, shape changes, indexing -===//
#pragma once

#include "dialects/prims/PrimsDialect.h"

#define GET_OP_CLASSES
#include "dialects/prims/Structure.h.inc"
