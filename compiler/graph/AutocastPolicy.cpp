#include "compiler/graph/AutocastPolicy.h"

#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace ptc {

using Names = StringSet<>;

namespace {
/// What the registrations for a device say, by names without overloads.
struct Lists {
  Names lower, full, widest;
  Names fullUnlessTyped; ///< without an argument `dtype`
};
} // namespace

/// Products are alike for all devices.
static bool isProduct(StringRef name) {
  static const Names products = {"_convolution", "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d",
                                 "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                                 "linalg_vecdot", "linear", "matmul", "mm", "prelu", "scaled_dot_product_attention",
                                 // Made of them.
                                 "_scaled_dot_product_attention_math", "_scaled_dot_product_efficient_attention",
                                 "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
                                 "chain_matmul", "convolution", "einsum", "gru", "gru_cell", "linalg_matmul",
                                 "linalg_multi_dot", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
                                 "rnn_tanh_cell"};
  return products.contains(name);
}

static const Lists &getCpuLists() {
  static const Lists lists = {
      /*lower=*/{"_addmm_activation", "_native_multi_head_attention", "inner", "mkldnn_rnn_layer", "tensordot"},
      /*full=*/
      {"_grid_sampler_2d_cpu_fallback", "_lu_with_info", "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d",
       "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky", "cholesky_inverse",
       "cholesky_solve", "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss", "fake_quantize_per_tensor_affine",
       "fractional_max_pool2d", "fractional_max_pool3d", "geqrf", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
       "hinge_embedding_loss", "huber_loss", "inverse", "kl_div", "l1_loss", "lu_solve", "margin_ranking_loss",
       "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
       "multilabel_margin_loss_forward", "nanquantile", "nll_loss", "nll_loss2d", "orgqr", "ormqr", "pinverse",
       "poisson_nll_loss", "polar", "prod", "qr", "quantile", "reflection_pad1d", "reflection_pad2d",
       "replication_pad1d", "replication_pad2d", "replication_pad3d", "smooth_l1_loss", "soft_margin_loss", "stft",
       "svd", "trace", "triangular_solve", "triplet_margin_loss", "view_as_complex",
       // Made of them, or what they are made of.
       "_adaptive_avg_pool3d", "_cdist_forward", "_ctc_loss", "max_pool3d_with_indices", "nll_loss2d_forward",
       "nll_loss_forward", "nll_loss_nd"},
      /*widest=*/{"cat", "index_copy", "stack"},
      /*fullUnlessTyped=*/{}};
  return lists;
}

static const Lists &getCudaLists() {
  static const Lists lists = {
      /*lower=*/{"_thnn_fused_gru_cell", "_thnn_fused_lstm_cell", "addmv", "addr", "mv"},
      /*full=*/
      {"_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
       "_upsample_nearest_exact3d", "acos", "asin", "binary_cross_entropy_with_logits", "cdist", "cosh",
       "cosine_embedding_loss", "cosine_similarity", "dist", "erfinv", "exp", "expm1", "frobenius_norm", "group_norm",
       "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "layer_norm", "log", "log10", "log1p", "log2",
       "logsumexp", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
       "native_layer_norm", "nll_loss", "nll_loss2d", "norm", "nuclear_norm", "pdist", "poisson_nll_loss", "pow",
       "reciprocal", "renorm", "rsqrt", "sinh", "smooth_l1_loss", "soft_margin_loss", "softplus", "tan",
       "triplet_margin_loss", "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
       "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d",
       // Made of them, or what they are made of.
       "_cdist_forward", "_log_softmax", "_pdist_forward", "_softmax", "arccos", "arcsin", "cross_entropy_loss",
       "multilabel_margin_loss_forward", "native_group_norm", "nll_loss2d_forward", "nll_loss_forward", "nll_loss_nd",
       "special_erfinv", "special_expm1", "special_log1p", "special_logsumexp", "square",
       // PyTorch refuses it, as its gradients are too small for float16.
       "binary_cross_entropy"},
      /*widest=*/
      {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "scatter_add",
       "tensordot", "vdot",
       // Made of them, or what they are made of.
       "arctan2", "cat", "grid_sampler_2d", "grid_sampler_3d", "index_copy", "inner", "linalg_cross", "stack"},
      /*fullUnlessTyped=*/
      {"cumprod", "cumsum", "linalg_matrix_norm", "linalg_vector_norm", "log_softmax", "prod", "softmax", "sum",
       // Made of them, or what they are made of.
       "linalg_norm", "special_log_softmax", "special_softmax"}};
  return lists;
}

/// What keeps the type of what it changes.
static bool answersLikeFirst(StringRef name) {
  static const Names names = {"_native_batch_norm_legit",
                              "_native_batch_norm_legit_functional",
                              "_native_batch_norm_legit_no_training",
                              "batch_norm",
                              "copy",
                              "diagonal_scatter",
                              "fill",
                              "group_norm",
                              "index_add",
                              "index_fill",
                              "index_put",
                              "index_reduce",
                              "instance_norm",
                              "layer_norm",
                              "masked_fill",
                              "masked_scatter",
                              "native_batch_norm",
                              "native_group_norm",
                              "native_layer_norm",
                              "put",
                              "rms_norm",
                              "scatter",
                              "scatter_add",
                              "scatter_reduce",
                              "select_scatter",
                              "slice_scatter"};
  return names.contains(name);
}

/// Algorithms on matrices and transforms have no kernels of half types.
static bool isAlgorithm(StringRef name) {
  return name.starts_with("linalg_") || name.starts_with("_linalg_") || name.starts_with("fft_") ||
         name.starts_with("_fft_");
}

AutocastPolicy getAutocastPolicy(const aten::AtenOp &op, Device device) {
  const Lists &lists = device == Device::Cuda ? getCudaLists() : getCpuLists();
  StringRef name = op.schema().baseName();
  // Padding by anything but a constant is reflection_pad1d or another one that the CPU's list has.
  if (name == "pad" && op.string("mode") != "constant" && device == Device::Cpu)
    return AutocastPolicy::Full;
  if (lists.fullUnlessTyped.contains(name)) {
    bool isTyped = op.hasArgument("dtype") && !op.isNone("dtype");
    return isTyped ? AutocastPolicy::AsGiven : AutocastPolicy::Full;
  }
  if (isProduct(name) || lists.lower.contains(name))
    return AutocastPolicy::Lower;
  if (lists.widest.contains(name))
    return AutocastPolicy::Widest;
  if (lists.full.contains(name) || isAlgorithm(name))
    return AutocastPolicy::Full;
  return answersLikeFirst(name) ? AutocastPolicy::LikeFirst : AutocastPolicy::AsGiven;
}

} // namespace ptc
