// The runtime's kernels for strided tensors, as x86 code for the fake driver.
#include "test/cuda/fake_driver.h"

#define KERNEL(NAME) void NAME
#define block_index fake_block_index
#define thread_index fake_thread_index
#define block_size fake_block_size
#include "runtime/cuda/strided_copy.c"
