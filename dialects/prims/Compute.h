//===- Compute.h - reductions, scans, sorting, contractions -===//
#pragma once

#include "dialects/prims/PrimsDialect.h"

#define GET_OP_CLASSES
#include "dialects/prims/Compute.h.inc"
