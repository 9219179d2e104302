//===- Prims.h - the closed set of tensor primitives ----------------------===//
//
// What each prim means is said in <Family>.td and, executably, in
// reference/<Family>.cpp. Include one family's header if that is all you need:
// generated declarations are long.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/prims/Compute.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Structure.h"
