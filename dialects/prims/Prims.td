//===- Prims.td - all prims -----------------------------------------------===//
include "dialects/prims/Elementwise.td"
include "dialects/prims/Structure.td"
include "dialects/prims/Compute.td"
