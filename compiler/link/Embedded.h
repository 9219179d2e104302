//===- Embedded.h - what ptc carries to link models with ------------------===//
//
// Made when ptc is built (BUILD.bazel), as arrays of bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

extern "C" {
/// A relocatable object with all of runtime/, one with runtime/cuda/, and one with runtime/checkpoint/.
extern const unsigned char ptc_embedded_runtime[], ptc_embedded_runtime_cuda[], ptc_embedded_runtime_checkpoint[];
extern const unsigned long ptc_embedded_runtime_size, ptc_embedded_runtime_cuda_size,
    ptc_embedded_runtime_checkpoint_size;

/// Shared libraries that have nothing but the names in libc.symbols and libm.symbols: the machine that runs ptc may
/// have no development files. Their names carry no versions, so that any glibc with them will do.
extern const unsigned char ptc_embedded_libc[], ptc_embedded_libm[];
extern const unsigned long ptc_embedded_libc_size, ptc_embedded_libm_size;
}
