//===- FindPtxas.h - where this machine has NVIDIA's assembler ------------===//
#pragma once

#include <string>

namespace ptc {

/// The first of: a program of PATH; of CUDA's toolkit, which CUDA_HOME and CUDA_PATH name or which is /usr/local/cuda;
/// of a Python package (triton, torch, nvidia-cuda-nvcc) that a Python of PATH would import. No Python is run for that.
/// Empty: none.
std::string findPtxas();

} // namespace ptc
