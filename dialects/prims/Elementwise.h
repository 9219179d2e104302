//===- Elementwise.h - one result element from one element of each operand -===//
#pragma once

#include "dialects/prims/PrimsDialect.h"

#define GET_OP_CLASSES
#include "dialects/prims/Elementwise.h.inc"
