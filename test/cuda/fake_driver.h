/* fake_driver.h - what tests and the kernels of tests ask of the fake driver, besides the driver's own functions. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For kernels: where the calling thread is. */
int fake_block_index(void);
int fake_thread_index(void);
int fake_block_size(void);
void *fake_shared(void); /* the block's dynamic shared memory */
/* In place of intrinsics of NVPTX (emulation.py), with their parameters. */
void fake_barrier(int barrier);
void fake_warp_barrier(int lanes);
int fake_shuffle_xor(int lanes, int value, int mask, int clamp);
int fake_shuffle_down(int lanes, int value, int distance, int clamp);
int fake_shuffle_up(int lanes, int value, int distance, int clamp);
int fake_shuffle_index(int lanes, int value, int lane, int clamp);
/* Before each atomic instruction, and each atomic load. */
void fake_atomic(const void *address, int bytes);
void fake_atomic_load(const void *address, int bytes);

/* For tests. Allocations are of device memory and of pinned memory. */
int64_t fake_live_allocations(void);
int64_t fake_all_allocations(void); /* that were ever made */
int64_t fake_live_objects(void);    /* modules, streams, events and retained contexts */
int64_t fake_live_pools(void);
int64_t fake_launches(void);
int64_t fake_waits(void);           /* for streams and events */
int64_t fake_pageable_copies(void); /* between the GPU and memory of the host that is not pinned */
void fake_set_gpus(int count, int major, int minor);
void fake_set_version(int version); /* CUDA's newest that the driver knows: 12040 is 12.4 */
void fake_set_pools(int is_there);
void fake_set_capturing(int is_capturing); /* all streams */
/* The next call of the function, whose name is without a version, answers `result`. */
void fake_fail(const char *function, int result);
/* The next call of the function begins with this one. */
void fake_on(const char *function, void (*callback)(void *data), void *data);

#ifdef __cplusplus
}
#endif
