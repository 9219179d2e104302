//===- parsers_test.cpp - expressions, JSON, safetensors ---------------------===//

#include "compiler/import/Expression.h"
#include "compiler/import/ForeignFile.h"
#include "compiler/import/GraphText.h"
#include "compiler/import/Json.h"
#include "compiler/import/OutputNames.h"
#include "compiler/import/Pt2Json.h"
#include "compiler/import/Safetensors.h"
#include "compiler/import/StackTrace.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <catch2/catch.hpp>

using namespace ptc::import;

static std::string parsed(llvm::StringRef text) {
  auto expression = parseExpression(text);
  return expression ? expression->str() : "error: " + llvm::toString(expression.takeError());
}

TEST_CASE("expressions: Python and sympy's repr give one tree") {
  CHECK(parsed("2*s0 + 1") == "((2*s0) + 1)");
  CHECK(parsed("Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))") == "((2*s0) + 1)");
  CHECK(parsed("((s0 + 1)//2)") == "((s0 + 1)//2)");
  CHECK(parsed("FloorDiv(Add(Symbol('s0', integer=True), Integer(1)), Integer(2))") == "((s0 + 1)//2)");
  CHECK(parsed("Max(1, s0)") == "Max(1, s0)");
  CHECK(parsed("Add(Symbol('a'), Symbol('b'), Symbol('c'))") == "((a + b) + c)");
  CHECK(parsed("PythonMod(s0, 8)") == "(s0 % 8)");
  CHECK(parsed("s0**2") == "(s0**2)");
  CHECK(parsed("-s0") == "(-1*s0)");
  CHECK(parsed("-3") == "-3");
  CHECK(parsed("s0 >= 2 & s1 < 3") == parsed("(s0 >= 2) & (s1 < 3)"));
  CHECK(parsed("int_oo") == "int_oo");
  // A guard's Python and a graph's size.
  CHECK(parsed("math.trunc(0.5*torch.sym_float(s0)) != 1") == parsed("Ne(TruncToInt(0.5*ToFloat(s0)), 1)"));
}

TEST_CASE("expressions: what is none is refused at its column") {
  CHECK(parsed("") == "error: expression ends too early at column 1 of ''");
  CHECK(parsed("s0 +") == "error: expression ends too early at column 5 of 's0 +'");
  CHECK(parsed("s0 ) 1") == "error: unexpected text at column 4 of 's0 ) 1'");
  CHECK(parsed("99999999999999999999") == "error: an integer beyond 64 bits at column 1 of '99999999999999999999'");
  CHECK(parsed(std::string(100000, '(')).find("nested too deeply") != std::string::npos);
  CHECK(parsed(std::string(100000, '-') + "1").find("nested too deeply") != std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 100000; ++i)
    sum += "+s0";
  CHECK(parsed(sum).find("too many terms") != std::string::npos);
}

static std::string jsonError(llvm::StringRef text) {
  auto document = JsonDocument::parse(text);
  return document ? "" : llvm::toString(document.takeError());
}

TEST_CASE("JSON: values are found by key and position") {
  auto document = JsonDocument::parse(R"( {"a": [1, -2.5e3, "x\n\u00e9\ud83d\ude00"], "b": {"c": null}, "d": true} )");
  REQUIRE(bool(document));
  std::vector<JsonValue> elements;
  document->root().get("a")->forEach([&](JsonValue v, unsigned) { return elements.push_back(v), true; });
  REQUIRE(elements.size() == 3);
  CHECK(elements[0].integer() == 1);
  CHECK(elements[1].number() == -2500);
  CHECK_FALSE(elements[1].integer());
  CHECK(elements[2].string() == "x\n\xc3\xa9\xf0\x9f\x98\x80");
  CHECK(document->root().get("b")->get("c")->isNull());
  CHECK(document->root().get("d")->boolean() == true);
  CHECK_FALSE(document->root().get("e"));
}

TEST_CASE("JSON: damage is an error with its place") {
  CHECK(jsonError("") == "invalid JSON: expected a value at byte 0");
  CHECK(jsonError("{\"a\": 1,}") == "invalid JSON: expected a key at byte 8");
  CHECK(jsonError("[1 2]") == "invalid JSON: expected ',' or ']' at byte 3");
  CHECK(jsonError("[1, \"x") == "invalid JSON: a string without an end at byte 6");
  CHECK(jsonError("[1]x") == "invalid JSON: text behind the document at byte 3");
  CHECK(jsonError("[tru]") == "invalid JSON: expected a value at byte 1");
  CHECK(jsonError(std::string(1000000, '[')) == "invalid JSON: nested too deeply at byte 128");
  CHECK(jsonError("\"\\") == "invalid JSON: a string without an end at byte 3");
  CHECK(jsonError("{\"\\ud83d\": \"\\u12\"}").empty());
}

static std::string safetensors(llvm::StringRef header, size_t dataBytes, int64_t claimed = -1) {
  uint64_t length = claimed < 0 ? header.size() : uint64_t(claimed);
  std::string file(reinterpret_cast<const char *>(&length), 8);
  return file + header.str() + std::string(dataBytes, '\0');
}
static std::string safetensorsError(const std::string &file) {
  auto tensors = readSafetensors({file.data(), file.size()});
  return tensors ? "" : llvm::toString(tensors.takeError());
}

TEST_CASE("safetensors: tensors lie where the header says") {
  std::string file = safetensors(R"({"w": {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
    "n": {"dtype":"I64","shape":[],"data_offsets":[24,32]}, "__metadata__": {"format":"pt"}})",
                                 32);
  auto tensors = readSafetensors({file.data(), file.size()});
  REQUIRE(bool(tensors));
  CHECK(tensors->size() == 2);
  CHECK((*tensors)["w"].strides == std::vector<int64_t>{3, 1});
  CHECK((*tensors)["n"].bytes.data() == file.data() + file.size() - 8);
}

TEST_CASE("safetensors: a lying header is refused") {
  CHECK(safetensorsError("abc") == "not a safetensors file (too short)");
  CHECK(safetensorsError(safetensors("{}", 0, INT64_MAX)) ==
        "not a safetensors file (its header would be longer than the file)");
  auto one = [](llvm::StringRef row) { return safetensorsError(safetensors("{\"w\": " + row.str() + "}", 24)); };
  CHECK(one(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,28]})") == "tensor 'w' lies outside of the file");
  CHECK(one(R"({"dtype":"F32","shape":[2,3],"data_offsets":[24,0]})") == "tensor 'w' lies outside of the file");
  CHECK(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,24]})") ==
        "tensor 'w' has 24 bytes, which is not what its shape needs");
  CHECK(one(R"({"dtype":"F32","shape":[4611686018427387904,16],"data_offsets":[0,24]})") ==
        "tensor 'w' has sizes whose product overflows");
  CHECK(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,24]})") == "tensor 'w' has a size that is no number");
  CHECK(one(R"({"dtype":"F32"})") == "tensor 'w' needs dtype, shape and data_offsets");
  CHECK(one("7") == "tensor 'w' needs dtype, shape and data_offsets");
  CHECK(safetensorsError(safetensors(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
    "b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                                     12)) == "tensors of the safetensors file overlap");
}

TEST_CASE("stack traces: the user's line, not torch's") {
  Source source;
  findUserLine("File \"/home/me/net.py\", line 12, in forward\n    return self.fc(x)\n"
               "  File \"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n"
               "    return F.linear(input, self.weight, self.bias)",
               source);
  CHECK(source.file == "/home/me/net.py");
  CHECK(source.line == 12);
  CHECK(innermostModule("L__self__,,M;L__self___a,encoder.layer.0,torch.nn.Linear") == "encoder.layer.0");
}

static std::string graphError(llvm::StringRef text) {
  auto program = readGraphText(text);
  return program ? "" : llvm::toString(program.takeError());
}

TEST_CASE("graph text: results that are taken apart become a node's outputs") {
  auto program = readGraphText("def forward(self, x: \"f32[4, 8]\"):\n"
                               "    topk = torch.ops.aten.topk.default(x, 2)\n"
                               "    index: \"i64[4, 2]\" = topk[1];  topk = None\n"
                               "    return (index,)\n");
  REQUIRE(bool(program));
  REQUIRE(program->graph.nodes.size() == 1);
  const Node &node = program->graph.nodes[0];
  CHECK(node.name == "topk");
  CHECK_FALSE(node.isSingleOutput);
  REQUIRE(node.outputs.size() == 2);
  CHECK(node.outputs[0].name.empty());
  CHECK(node.outputs[1].name == "index");
  CHECK(node.outputs[1].tensor->dtype == DType::Int64);
}

TEST_CASE("graph text: types may stand without quotes, as torch printed them before 2.3") {
  auto program = readGraphText("def forward(self, x: f32[s0, 8], y: i64[8], z: Optional[torch.Tensor]):\n"
                               "    n: Sym(s0) = torch.ops.aten.sym_size.int(x, 0);  n = None\n"
                               "    add: f32[s0, 8] = torch.ops.aten.add.Tensor(x, y);  x = y = None\n"
                               "    return add\n");
  REQUIRE(bool(program));
  const std::vector<Definition> &inputs = program->graph.inputs;
  REQUIRE(inputs.size() == 3);
  REQUIRE(inputs[0].tensor.has_value());
  CHECK(inputs[0].tensor->sizes[0].str() == "s0");
  CHECK(inputs[0].tensor->sizes[1].str() == "8");
  REQUIRE(inputs[1].tensor.has_value());
  CHECK(inputs[1].tensor->dtype == DType::Int64);
  CHECK_FALSE(inputs[2].isTyped());
  REQUIRE(program->graph.nodes.size() == 2);
  CHECK(program->graph.nodes[1].outputs[0].tensor.has_value());
  CHECK(graphError("def forward(self, x: f33[4]):\n    return (x,)\n").find("has a dtype that is not known") !=
        std::string::npos);
}

TEST_CASE("graph text: an error names line and column") {
  CHECK(graphError("x = 1\n") == "2:1: expected a class or a function, but the text ends here");
  CHECK(graphError("def forward(self, x: \"f32[4\"):\n    return (x,)\n") ==
        "1:22: the type annotation 'f32[4' has no closing bracket");
  CHECK(graphError("def forward(self, x):\n    y = torch.ops.aten.sin.default(x\n    return (y,)\n") ==
        "3:5: expected ',' or ')', but found 'return'");
  CHECK(graphError("ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, x):\n"
                   "            return (x,)\n") == "5:1: expected 'Graph signature:' (is the file cut off?)");
  CHECK(graphError("def forward(self, x):\n    return " + std::string(100000, '[')).find("nested too deeply") !=
        std::string::npos);
}

TEST_CASE("an export says which of its parameters require gradients") {
  auto program = readProgramJson(R"({
    "schema_version": {"major": 8, "minor": 0}, "range_constraints": {},
    "graph_module": {
      "graph": {
        "inputs": [{"as_tensor": {"name": "frozen"}}, {"as_tensor": {"name": "trained"}}], "nodes": [], "outputs": [],
        "tensor_values": {
          "frozen": {"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": false, "layout": 7},
          "trained": {"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": true, "layout": 7}}},
      "signature": {
        "input_specs": [{"parameter": {"arg": {"name": "frozen"}, "parameter_name": "a"}},
                        {"parameter": {"arg": {"name": "trained"}, "parameter_name": "b"}}],
        "output_specs": []}}})");
  REQUIRE(bool(program));
  CHECK(!program->graph.inputs[0].tensor->requiresGrad);
  CHECK(program->graph.inputs[1].tensor->requiresGrad);
}

TEST_CASE("results are called what the module calls them") {
  auto names = [](llvm::StringRef treeSpec, size_t count) {
    std::vector<OutputSpec> outputs(count + 1);
    outputs[0] = {OutputKind::BufferMutation, "steps"};
    nameOutputs(treeSpec, outputs);
    CHECK(outputs[0].target == "steps");
    return llvm::map_to_vector<4>(llvm::drop_begin(outputs), [](const OutputSpec &output) { return output.target; });
  };
  using Names = llvm::SmallVector<std::string, 4>;
  std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  auto node = [](llvm::StringRef context, const std::string &children) {
    return (R"({"type": "a.Type", "context": )" + context + R"(, "children_spec": [)" + children + "]}").str();
  };
  std::string pair = leaf + ", " + leaf, list = node(R"("null")", pair);
  CHECK(names("[1, " + leaf + "]", 1) == Names{""});
  CHECK(names("[1, " + list + "]", 2) == Names{"", ""});
  CHECK(names("[1, " + node(R"("[\"logits\", 7]")", leaf + ", " + list) + "]", 3) == Names{"logits", "7.0", "7.1"});
  CHECK(names("[1, " + node(R"("null")", leaf + ", " + node(R"("[\"b\"]")", leaf)) + "]", 2) == Names{"", "1.b"});
  // A dataclass with a field that is None, and a defaultdict.
  CHECK(names("[1, " + node(R"("[[\"a\", \"b\"], [\"c\"]]")", pair) + "]", 2) == Names{"a", "b"});
  CHECK(names("[1, " + node(R"({"dict_context": ["q"]})", leaf) + "]", 1) == Names{"q"});
  // Keys that are too few, another number of outputs, another version, no JSON.
  CHECK(names("[1, " + node(R"("[\"a\"]")", pair) + "]", 2) == Names{"", ""});
  CHECK(names("[1, " + node(R"("[\"a\", \"b\"]")", pair) + "]", 3) == Names{"", "", ""});
  CHECK(names("[2, " + node(R"("[\"a\"]")", leaf) + "]", 1) == Names{""});
  CHECK(names("[1, {", 1) == Names{""});
}

TEST_CASE("files that are taken for models say what they are and what to do") {
  using Catch::Matchers::Contains;
  CHECK_THAT(describeForeignFile("\x7f"
                                 "ELF\x02"),
             Contains("ptc run"));
  std::string weights = R"({"w":{"dtype":"F32"}})";
  weights = std::string(1, char(weights.size())) + std::string(7, '\0') + weights;
  CHECK_THAT(describeForeignFile(weights), Contains("without their graph") && Contains("torch.export.save"));
  CHECK_THAT(describeForeignFile("\x80\x02}q"), Contains("pickle") && Contains("torch.export.save"));
  CHECK_THAT(describeForeignFile("\x1c\x01\x02\x03TFL3"), Contains("convert it to ONNX"));
  CHECK(describeForeignFile("Once upon a time.").empty());
  CHECK_THAT(describeForeignArchive({"data.pkl", "code/__torch__.py", "constants.pkl"}), Contains("TorchScript"));
  CHECK_THAT(describeForeignArchive({"data.pkl", "byteorder", "data/0"}), Contains("torch.save wrote"));
  CHECK(describeForeignArchive({"word/document.xml"}).empty());
}
