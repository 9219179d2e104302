#include "test/import/MutateOnnx.h"

#include "compiler/import/onnx/ImportOnnx.h"

#include "onnx.pb.h"

#include <cstdint>
#include <vector>

namespace {

constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 3, 4, 7, -2, -3, 16, 64, 4096, 1 << 20, INT32_MAX, int64_t(1) << 31,
                                int64_t(1) << 40, INT64_MAX, INT64_MIN};
constexpr float kReals[] = {0, 1, -1, 0.5f, 1e-30f, 1e30f, __builtin_inff(), __builtin_nanf("")};
constexpr const char *kTexts[] = {"",         "NOTSET",     "SAME_UPPER", "linear",  "nearest", "cubic",
                                  "constant", "reflect",    "edge",       "wrap",    "add",     "mul",
                                  "ij,jk->ik", "...ii->...i", "asymmetric", "forward", "bidirectional", "\n"};

class Mutation {
public:
  Mutation(onnx::ModelProto &model, std::mt19937 &random) : model(model), random(random) {
    collect(*model.mutable_graph());
    for (onnx::FunctionProto &function : *model.mutable_functions())
      for (onnx::NodeProto &node : *function.mutable_node())
        collect(node);
  }

  void change() {
    switch (below(8)) {
    case 0:
      return changeType();
    case 1:
      return changeTensor();
    case 2:
      return changeOrder();
    case 3:
      if (model.opset_import_size())
        model.mutable_opset_import(0)->set_version(below(30));
      return;
    case 4:
    case 5:
      return changeAttribute();
    default:
      return changeNode();
    }
  }

private:
  size_t below(size_t count) { return random() % count; }
  template <class List> auto &any(List &list) { return list[below(std::size(list))]; }
  template <class Repeated> auto *anyOf(Repeated *list) {
    return list->size() ? list->Mutable(int(below(list->size()))) : nullptr;
  }

  void collect(onnx::NodeProto &node) {
    nodes.push_back(&node);
    for (const std::string &output : node.output())
      names.push_back(output);
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        tensors.push_back(attribute.mutable_t());
      if (attribute.has_g())
        collect(*attribute.mutable_g());
    }
  }

  void collect(onnx::GraphProto &graph) {
    graphs.push_back(&graph);
    for (auto *list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (onnx::ValueInfoProto &value : *list) {
        types.push_back(value.mutable_type()->mutable_tensor_type());
        names.push_back(value.name());
      }
    for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
      tensors.push_back(&tensor);
      names.push_back(tensor.name());
    }
    for (onnx::NodeProto &node : *graph.mutable_node())
      collect(node);
  }

  void changeType() {
    if (types.empty())
      return;
    onnx::TypeProto_Tensor *type = any(types);
    auto *shape = type->mutable_shape();
    onnx::TensorShapeProto_Dimension *dim = anyOf(shape->mutable_dim());
    switch (below(6)) {
    case 0:
      return type->set_elem_type(int(below(20)));
    case 1:
      return shape->add_dim()->set_dim_value(any(kNumbers));
    case 2:
      return dim ? shape->mutable_dim()->RemoveLast() : type->clear_shape();
    case 3:
      if (dim)
        dim->set_dim_param(below(2) ? "n" : "m");
      return;
    case 4:
      if (dim)
        dim->clear_value();
      return;
    default:
      if (dim)
        dim->set_dim_value(any(kNumbers));
    }
  }

  void changeTensor() {
    if (tensors.empty())
      return;
    onnx::TensorProto *tensor = any(tensors);
    switch (below(5)) {
    case 0:
      return tensor->set_data_type(int(below(20)));
    case 1:
      return tensor->add_dims(any(kNumbers));
    case 2:
      if (tensor->dims_size())
        tensor->mutable_dims()->RemoveLast();
      return;
    case 3:
      if (tensor->dims_size())
        tensor->set_dims(int(below(tensor->dims_size())), any(kNumbers));
      return;
    default:
      changeElement(*tensor);
    }
  }

  void changeElement(onnx::TensorProto &tensor) {
    int64_t number = any(kNumbers);
    if (tensor.int64_data_size())
      return tensor.set_int64_data(int(below(tensor.int64_data_size())), number);
    std::string *bytes = tensor.mutable_raw_data();
    if (bytes->size() < sizeof(number))
      return bytes->push_back(char(number));
    size_t at = below(bytes->size() / sizeof(number)) * sizeof(number);
    bytes->replace(at, sizeof(number), reinterpret_cast<const char *>(&number), sizeof(number));
  }

  void changeOrder() {
    onnx::GraphProto *graph = any(graphs);
    auto *list = graph->mutable_node();
    if (list->empty())
      return;
    int one = int(below(list->size())), other = int(below(list->size()));
    switch (below(3)) {
    case 0:
      return list->SwapElements(one, other);
    case 1:
      return list->DeleteSubrange(one, 1);
    default:
      onnx::NodeProto copy = list->Get(one);
      *list->Add() = copy;
    }
  }

  void changeNode() {
    if (nodes.empty())
      return;
    onnx::NodeProto *node = any(nodes);
    static const auto operators = ptc::import::onnxOperators();
    std::string *input = anyOf(node->mutable_input());
    std::string name = names.empty() || !below(6) ? std::string() : any(names);
    switch (below(5)) {
    case 0:
      return node->set_op_type(any(operators).str());
    case 1:
      return node->add_input(name);
    case 2:
      if (input)
        node->mutable_input()->RemoveLast();
      return;
    case 3:
      return node->add_output("more." + std::to_string(below(100)));
    default:
      if (input)
        *input = name;
    }
  }

  void changeAttribute() {
    onnx::NodeProto *node = nodes.empty() ? nullptr : any(nodes);
    onnx::AttributeProto *attribute = node ? anyOf(node->mutable_attribute()) : nullptr;
    if (!attribute)
      return;
    switch (below(8)) {
    case 0:
      return node->mutable_attribute()->RemoveLast();
    case 1:
      return attribute->set_i(any(kNumbers));
    case 2:
      return attribute->set_f(any(kReals));
    case 3:
      return attribute->set_s(any(kTexts));
    case 4:
      return attribute->add_ints(any(kNumbers));
    case 5:
      if (attribute->ints_size())
        attribute->mutable_ints()->RemoveLast();
      return;
    case 6:
      return attribute->clear_g();
    default:
      if (attribute->ints_size())
        attribute->set_ints(int(below(attribute->ints_size())), any(kNumbers));
      else
        attribute->set_i(any(kNumbers));
    }
  }

  onnx::ModelProto &model;
  std::mt19937 &random;
  std::vector<onnx::GraphProto *> graphs;
  std::vector<onnx::NodeProto *> nodes;
  std::vector<onnx::TensorProto *> tensors;
  std::vector<onnx::TypeProto_Tensor *> types;
  std::vector<std::string> names;
};

} // namespace

std::string mutateOnnx(const std::string &bytes, std::mt19937 &random) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    return bytes;
  for (size_t changes = 1 + random() % 4; changes > 0; --changes)
    Mutation(model, random).change(); // collects anew: a change may remove what was collected
  return model.SerializeAsString();
}
