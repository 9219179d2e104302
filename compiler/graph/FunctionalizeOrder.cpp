#include "compiler/graph/FunctionalizeOrder.h"

using llvm::StringLiteral;
using llvm::StringRef;

namespace ptc {

namespace {
/// clone(contiguous_format), and what computes with such copies.
constexpr StringLiteral kRows =
    "masked_fill masked_scatter softmax _softmax log_softmax _log_softmax log_sigmoid cumsum cumprod cummax cummin "
    "logcumsumexp mm bmm matmul linear addmm baddbmm addbmm outer tensordot cross linalg_cross linalg_vector_norm "
    "cdist cosine_similarity gather scatter scatter_add index_select index_add index_copy take_along_dim embedding "
    "tril triu topk layer_norm native_layer_norm rms_norm instance_norm local_response_norm repeat repeat_interleave "
    "tile new_zeros new_ones new_full new_empty diag_embed one_hot bucketize rrelu sum mean amax amin var std max min "
    "any all prod logsumexp argmax argmin median nanmedian kthvalue conv1d avg_pool1d max_pool1d upsample_nearest1d "
    "pixel_shuffle grid_sampler grid_sampler_2d im2col col2im";
/// LAPACK's.
constexpr StringLiteral kColumns =
    "inverse linalg_inv linalg_inv_ex cholesky linalg_cholesky linalg_cholesky_ex cholesky_inverse qr linalg_qr "
    "linalg_solve_triangular";
/// empty_like, clone.
constexpr StringLiteral kFirst =
    "flip fliplr flipud sort msort argsort index_put select_scatter slice_scatter diagonal_scatter";
/// Besides what the operators' table marks as pointwise.
constexpr StringLiteral kOperands =
    "clone dropout hardswish to _to_copy leaky_relu prelu _prelu_kernel special_expit i0 special_i0";
/// What suggest_memory_format answers.
constexpr StringLiteral kFormat =
    "conv2d conv3d convolution _convolution conv_transpose2d conv_transpose3d batch_norm native_batch_norm "
    "_native_batch_norm_legit_no_training group_norm native_group_norm max_pool2d max_pool2d_with_indices avg_pool2d "
    "adaptive_avg_pool2d _adaptive_avg_pool2d adaptive_max_pool2d upsample_nearest2d upsample_bilinear2d "
    "upsample_bicubic2d lp_pool2d pad constant_pad_nd reflection_pad2d replication_pad2d pixel_unshuffle "
    "channel_shuffle native_channel_shuffle roll cat stack";
/// Other orders, whatever their operands have.
constexpr StringLiteral kOwn = "kron einsum tensordot rot90 nonzero cov stft";
} // namespace

static bool isIn(StringRef names, StringRef name) { return llvm::is_contained(llvm::split(names, ' '), name); }

Order orderOf(const aten::AtenOp &op) {
  StringRef base = op.schema().baseName();
  bool isInRows = op.hasArgument("memory_format") && !op.isNone("memory_format") &&
                  op.string("memory_format").contains("contiguous");
  if (isInRows || isIn(kRows, base))
    return Order::Rows;
  if (isIn(kColumns, base))
    return Order::Columns;
  if (base.ends_with("_like") || isIn(kFirst, base))
    return Order::First;
  if (op.schema().has(aten::Mark::Pointwise) || isIn(kOperands, base))
    return Order::Operands;
  return isIn(kFormat, base) ? Order::Format : Order::Unknown;
}

bool hasOwnOrder(const aten::AtenOp &op) {
  StringRef base = op.schema().baseName();
  bool isOfMatrices = base.starts_with("linalg_") || base.starts_with("_linalg") || isIn(kColumns, base);
  bool isOfModule =
      base.contains("attention") || base.starts_with("lstm") || base.starts_with("gru") || base.starts_with("rnn");
  return isOfMatrices || isOfModule || base.starts_with("fft_") || isIn(kOwn, base);
}

} // namespace ptc
