#include "compiler/graph/Autocast.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ptc {

using aten::AtenOp;
using aten::Call;

namespace {

//===----------------------------------------------------------------------===//
// The table: PyTorch's registrations for AutocastCPU, and of operators that
// consist of those what they come to
//===----------------------------------------------------------------------===//

enum class Policy {
  AsGiven,   ///< no opinion: its result has the type that its operands promote to
  Lower,     ///< takes bfloat16
  Full,      ///< takes float32
  Widest,    ///< takes the widest type among its operands
  LikeFirst, ///< takes what it is given, answers in the type of its first operand
};

Policy policyOf(StringRef name) {
  static const llvm::StringSet<> lower = {
      "_addmm_activation", "_convolution", "_native_multi_head_attention", "addbmm", "addmm", "baddbmm", "bmm",
      "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
      "linalg_vecdot", "linear", "matmul", "mkldnn_rnn_layer", "mm", "prelu", "scaled_dot_product_attention",
      // Made of them.
      "_scaled_dot_product_attention_math", "_scaled_dot_product_efficient_attention",
      "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu", "chain_matmul",
      "convolution", "einsum", "gru", "gru_cell", "inner", "linalg_matmul", "linalg_multi_dot", "lstm", "lstm_cell",
      "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "tensordot"};
  static const llvm::StringSet<> full = {
      "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d",
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
      "nll_loss_forward", "nll_loss_nd"};
  static const llvm::StringSet<> likeFirst = {"_native_batch_norm_legit",
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
  if (lower.contains(name))
    return Policy::Lower;
  // Algorithms on matrices and transforms have no kernels of half types.
  if (full.contains(name) || name.starts_with("linalg_") || name.starts_with("_linalg_") || name.starts_with("fft_") ||
      name.starts_with("_fft_"))
    return Policy::Full;
  if (name == "cat" || name == "stack" || name == "index_copy")
    return Policy::Widest;
  return likeFirst.contains(name) ? Policy::LikeFirst : Policy::AsGiven;
}

Policy policyOf(const AtenOp &op) {
  StringRef name = op.schema().baseName();
  // Padding by anything but a constant is one of the operators above.
  if (name == "pad" && op.string("mode") != "constant")
    return Policy::Full;
  return policyOf(name);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type elementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getElementType() : Type();
}

/// float64 stays what it is: who asked for it has a reason.
bool isEligible(Type element) { return element && (element.isF32() || element.isBF16() || element.isF16()); }

RankedTensorType withElement(Type type, Type element) { return makeTensorType(getShape(type), element); }

/// What floating operands of these types promote to: those with dimensions count first. Null: there are none.
Type promote(ArrayRef<Type> types) {
  Type result;
  for (bool scalars : {false, true}) {
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !isa<FloatType>(tensor.getElementType()) || (tensor.getRank() == 0) != scalars)
        continue;
      Type element = tensor.getElementType();
      if (!result || element.getIntOrFloatBitWidth() > result.getIntOrFloatBitWidth())
        result = element;
      else if (element.getIntOrFloatBitWidth() == result.getIntOrFloatBitWidth() && element != result)
        result = Float32Type::get(type.getContext()); // bfloat16 and float16
    }
    if (result)
      return result;
  }
  return result;
}

class Autocast {
public:
  explicit Autocast(func::FuncOp function)
      : function(function), bf16(BFloat16Type::get(function.getContext())),
        f32(Float32Type::get(function.getContext())) {}
  void run();

private:
  Value cast(Operation *before, Value value, Type element);
  void castEligible(Operation *op, Type element);
  void restore(Operation *op);
  Type declaredType(Value value) const {
    auto known = declared.find(value);
    return known == declared.end() ? value.getType() : known->second;
  }
  void setResultTypes(const AtenOp &op, Policy policy);

  func::FuncOp function;
  Type bf16, f32;
  DenseMap<Value, Type> declared; ///< by the exporter, of values that have another type now
  DenseMap<std::pair<Value, Type>, Value> casts;
  DenseMap<Value, Value> sources; ///< of casts
};

} // namespace

Value Autocast::cast(Operation *before, Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  Value &known = casts[{value, element}];
  if (!known) {
    OpBuilder builder(before);
    known = Call("_to_copy.default")
                .set("self", value)
                .set("dtype", TypeAttr::get(element))
                .create(builder, before->getLoc(), withElement(value.getType(), element))
                ->getResult(0);
    sources[known] = value;
  }
  return known;
}

void Autocast::castEligible(Operation *op, Type element) {
  for (OpOperand &operand : op->getOpOperands())
    if (isEligible(elementOf(operand.get())))
      operand.set(cast(op, operand.get(), element));
}

/// Whoever is no operator of PyTorch gets what the exporter declared.
void Autocast::restore(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto known = declared.find(operand.get()); known != declared.end())
      operand.set(cast(op, operand.get(), getElementTypeOrSelf(known->second)));
}

/// Gives the results the types that the operands bring.
void Autocast::setResultTypes(const AtenOp &op, Policy policy) {
  SmallVector<Type> before, now;
  for (Value operand : op->getOperands()) {
    auto source = sources.find(operand);
    before.push_back(declaredType(source == sources.end() ? operand : source->second));
    now.push_back(operand.getType());
  }
  if (before == now)
    return;
  bool typeIsArgument = op.hasArgument("dtype") && !op.isNone("dtype");
  StringRef name = op.schema().baseName();
  if (name == "type_as" || op.name() == "to.other") {
    before.erase(before.begin());
    now.erase(now.begin());
  }
  Type from = promote(before), to = promote(now);
  if (policy == Policy::LikeFirst) {
    from = getElementTypeOrSelf(before.front());
    to = getElementTypeOrSelf(now.front());
  }
  // What is only returned is converted by whoever computes it.
  auto isReadByOperators = [](Value result) { return llvm::any_of(result.getUsers(), AtenOp::isKnown); };
  for (Value result : op->getResults()) {
    if (typeIsArgument || from == to || elementOf(result) != from || !isReadByOperators(result))
      continue;
    declared[result] = result.getType();
    result.setType(withElement(result.getType(), to));
  }
}

void Autocast::run() {
  for (Operation &operation : llvm::make_early_inc_range(function.front())) {
    if (!AtenOp::isKnown(&operation)) {
      restore(&operation);
      continue;
    }
    AtenOp op(&operation);
    Policy policy = policyOf(op);
    bool isComplex = llvm::any_of(operation.getResultTypes(),
                                  [](Type type) { return isa<ComplexType>(getElementTypeOrSelf(type)); });
    if (op.schema().baseName() == "view" && op.hasArgument("dtype"))
      restore(&operation); // the bits of a number
    else if (policy == Policy::Lower)
      castEligible(&operation, bf16);
    else if (policy == Policy::Full || isComplex)
      castEligible(&operation, f32);
    else if (policy == Policy::Widest) {
      auto isNarrow = [&](Value operand) { return !isEligible(elementOf(operand)) || elementOf(operand) == bf16; };
      castEligible(&operation, llvm::all_of(operation.getOperands(), isNarrow) ? bf16 : f32);
    }
    setResultTypes(op, policy);
  }
}

std::unique_ptr<Pass> createAutocastPass() {
  return makeFunctionPass("autocast", "mixed precision as torch.autocast does it", [](func::FuncOp function) {
    Autocast(function).run();
    return success();
  });
}

} // namespace ptc
