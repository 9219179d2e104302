// Kernels that copy between row-major memory and a tensor of any strides, one for each size of what is moved at a time.
// Parameters: the row-major memory, the tensor's first element, whether to read the tensor or to write it, whether each
// thread moves a line, which is 16 bytes of the row-major memory and of one run of the innermost dimension, how many
// threads there are, the number of dimensions, and the sizes and strides of each, the innermost first; these count what
// is moved at a time.
//
// The runtime has them as PTX, which the driver of any GPU assembles. Who compiles them for another machine says what
// KERNEL, block_index, thread_index and block_size are there.
#include <stdint.h>

#ifdef __NVPTX__
#define KERNEL(NAME) __attribute__((device_kernel)) void NAME
#define block_index __nvvm_read_ptx_sreg_ctaid_x
#define thread_index __nvvm_read_ptx_sreg_tid_x
#define block_size __nvvm_read_ptx_sreg_ntid_x
#endif

typedef struct {
  int64_t low, high;
} pair;

// Divisions of 32 bits take a fraction of the time of those of 64.
#define STEP(D)                                                                                                        \
  if (rank > D) {                                                                                                      \
    at += (int64_t)(rest % (index_type)size##D) * stride##D;                                                           \
    rest /= (index_type)size##D;                                                                                       \
  }
#define PLACE(TYPE)                                                                                                    \
  {                                                                                                                    \
    typedef TYPE index_type;                                                                                           \
    index_type rest = (index_type)i;                                                                                   \
    STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)                                                    \
  }

#define COPY(BYTES, ELEMENT)                                                                                           \
  enum { kLine##BYTES = 16 / BYTES };                                                                                  \
  typedef struct {                                                                                                     \
    _Alignas(16) ELEMENT elements[kLine##BYTES];                                                                       \
  } line##BYTES;                                                                                                       \
  KERNEL(ptc_strided_copy_##BYTES)                                                                                     \
  (ELEMENT * packed, ELEMENT * tensor, int64_t reads, int64_t lines, int64_t count, int64_t rank, int64_t size0,       \
   int64_t size1, int64_t size2, int64_t size3, int64_t size4, int64_t size5, int64_t size6, int64_t size7,            \
   int64_t stride0, int64_t stride1, int64_t stride2, int64_t stride3, int64_t stride4, int64_t stride5,               \
   int64_t stride6, int64_t stride7) {                                                                                 \
    int64_t i = (int64_t)block_index() * block_size() + thread_index(), at = 0, each = lines ? kLine##BYTES : 1;       \
    if (i >= count)                                                                                                    \
      return;                                                                                                          \
    i *= each;                                                                                                         \
    if (count * each <= UINT32_MAX)                                                                                    \
      PLACE(uint32_t)                                                                                                  \
    else                                                                                                               \
      PLACE(uint64_t)                                                                                                  \
    if (lines && reads) {                                                                                              \
      line##BYTES line;                                                                                                \
      for (int k = 0; k < kLine##BYTES; ++k)                                                                           \
        line.elements[k] = tensor[at + k * stride0];                                                                   \
      *(line##BYTES *)(packed + i) = line;                                                                             \
    } else if (lines) {                                                                                                \
      line##BYTES line = *(line##BYTES *)(packed + i);                                                                 \
      for (int k = 0; k < kLine##BYTES; ++k)                                                                           \
        tensor[at + k * stride0] = line.elements[k];                                                                   \
    } else if (reads) {                                                                                                \
      packed[i] = tensor[at];                                                                                          \
    } else {                                                                                                           \
      tensor[at] = packed[i];                                                                                          \
    }                                                                                                                  \
  }

COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, pair)
