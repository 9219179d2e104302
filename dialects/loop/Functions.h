//===- Functions.h - functions that Loop has in place of MLIR's ------------===//
#pragma once

#include "dialects/loop/Loop.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

#define GET_OP_CLASSES
#include "dialects/loop/Functions.h.inc"
