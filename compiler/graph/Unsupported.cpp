#include "compiler/graph/Unsupported.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

using llvm::StringRef;

namespace ptc {
namespace {

/// Extended regular expressions of whole names.
struct Reason {
  const char *names, *why;
};

/// Operators that a model may well call.
constexpr Reason kOperators[] = {
    {"resize_?|resize_as_?|_resize_output_?|set_?|set_data|data",
     "it changes the size or the storage of a tensor in place: create a new tensor instead (resize_ to no more "
     "elements compiles)"},
    {"allclose|is_nonzero", "it answers a Python bool, by whose value the program would go on: compute a tensor"},
    {"_?ctc_loss", "it has no kernel: compute this loss outside of the model"},
    {"linalg_lstsq", "it has no kernel: use linalg.qr or linalg.pinv"},
    {"_histogramdd_.*", "a part of histogramdd, which is supported: do not decompose it"},
    {"rrelu_with_noise.*", "its noise is a result that eager mode writes to its argument: use rrelu"},
    {"_pack_padded_sequence|_pad_packed_sequence", "packed sequences carry Python numbers: pad them and give a mask"},
};

/// What is made for other libraries, layouts or purposes.
constexpr Reason kFamilies[] = {
    {".*sparse.*|.*coalesced?_?|_?(nnz|values|indices|crow_indices|ccol_indices|row_indices|col_indices)(_copy)?|_dim["
     "IV]|"
     "_?spdiags|_spsolve|dense_dim|s?s?paddmm|hspmm|smm|_?to_dense.*|_convert_indices.*",
     "of sparse tensors, which are not supported"},
    {".*nested.*|.*jagged.*|.*padded_(dense|tensor)",
     "of nested tensors, which are not supported: pad them and give a mask"},
    {".*quantize.*|.*qparams.*|q_.*|int_repr|qscheme|.*_fq_helper.*|.*rowwise_prune|_saturate_weight.*|_autocast.*",
     "of quantized tensors, which are not supported: export integer arithmetic (PT2E) instead"},
    {"names?|rename_?|align_.*|refine_names", "of named dimensions, storages or streams, which are not supported"},
    {"_foreach_.*|_fused_(adam|adamw|sgd|adagrad)_?|_amp_.*",
     "a fused step of an optimizer, which is no part of a model"},
    {".*(cudnn|miopen|mkldnn|mps|xnnpack|fbgemm|cufft|cuda|nnpack|xla|vulkan|sobol).*|_cslt.*|mkl_.*|_thnn_.*|_weight_"
     "int.*|"
     "_scaled_.*|_mixed_dtypes.*|_wrapped_.*|_dyn_quant.*|_?flash_.*|_efficient_attention.*|_fused_sdp.*|_convert_"
     "weight.*|"
     "_grouped_mm|_?slow_conv.*|_transformer_encoder_layer_fwd|_triton.*|_use_.*|_lazy_.*|_copy_from.*|_to_cpu|"
     "_?pin_memory|record_stream|from_"
     "file|"
     "_native_multi_head_attention|_transform_bias_rescale_qkv|batch_norm_(stats|elemt|gather.*|update_stats)",
     "a library's or a device's own: torch.export writes the general operator"},
    {".*(backward|_jvp|_grad|_helper)(_.*)?|_batch_norm_impl_index.*|_backward|requires_grad_|retain.*|_euclidean_dist|"
     "_compute_linear_combination|_masked_softmax|_index_put_impl_?|slice_inverse|native_norm",
     "a part of a derivative or of another operator, which a model does not call"},
    {".*_(dual|batch_dim)(_copy)?|_fw_primal.*|_version|is_leaf|output_nr|_is_zerotensor|_new_zeros_with_same.*|_neg_"
     "view.*|"
     "_reshape_from_tensor|_dim_arange|_pad_enum|_masked_scale|_fill_mem_eff.*|_fused_dropout|_linalg_check_errors|_.*_"
     "view_copy",
     "of autograd and batching, which have left a graph when it is exported"},
    {"_test_.*|_foobar|_debug_.*|_print|_make_dep_token|_propagate.*|_functional_(assert|sym)_.*",
     "it serves PyTorch's own tests and checks"},
    {"is_.*|_is_.*|_?has_.*|sym_.*|size|stride|numel|result_type|promote_types|can_cast|_shape_as_tensor",
     "it asks about a tensor, which torch.export answers"},
};

} // namespace

template <size_t N> static StringRef find(const Reason (&reasons)[N], StringRef name) {
  for (const Reason &reason : reasons)
    if (llvm::Regex("^(" + std::string(reason.names) + ")$").match(name))
      return reason.why;
  return {};
}

StringRef whyUnsupported(const aten::Schema &schema) {
  if (StringRef why = find(kOperators, schema.baseName()); !why.empty())
    return why;
  if (StringRef why = find(kFamilies, schema.baseName()); !why.empty())
    return why;
  bool hasOther = llvm::any_of(schema.arguments, [](const aten::Argument &a) { return a.kind == aten::Kind::Other; });
  return hasOther ? "of named dimensions, storages or streams, which are not supported" : "";
}

} // namespace ptc
