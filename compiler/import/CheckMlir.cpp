#include "compiler/import/CheckMlir.h"

#include "compiler/import/Trainable.h"
#include "dialects/control/Control.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/core/TensorBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

namespace {
/// Walks over the text as MLIR's lexer would, with comments and strings passed over.
class TextCheck {
public:
  explicit TextCheck(StringRef text) : text(text) {}
  llvm::Error run();

private:
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  void skipString();
  llvm::Error checkValue();
  llvm::Error failHere(const llvm::Twine &what) const;

  StringRef text;
  size_t place = 0;
};
} // namespace

llvm::Error TextCheck::failHere(const llvm::Twine &what) const {
  StringRef before = text.take_front(place);
  size_t line = before.count('\n') + 1, column = place - (before.rfind('\n') + 1) + 1;
  return fail(llvm::Twine(line) + ":" + llvm::Twine(column) + ": " + what);
}

void TextCheck::skipString() {
  for (++place; place < text.size() && text[place] != '"' && text[place] != '\n'; ++place)
    if (text[place] == '\\')
      ++place;
}

/// `%name`, `%name#3`, `%name:3`: the parser makes room for so many results.
llvm::Error TextCheck::checkValue() {
  constexpr unsigned kMostResults = 1 << 16;
  size_t end = place + 1;
  while (llvm::isAlnum(at(end)) || llvm::is_contained({'_', '$', '.', '-'}, at(end)))
    ++end;
  if (at(end) != '#' && at(end) != ':')
    return llvm::Error::success();
  StringRef digits = text.drop_front(end + 1).take_while(llvm::isDigit);
  unsigned number = 0;
  if (!digits.empty() && (digits.getAsInteger(10, number) || number > kMostResults))
    return failHere("there is no result number " + digits);
  place = end;
  return llvm::Error::success();
}

llvm::Error TextCheck::run() {
  constexpr int kDeepest = 200;
  int depth = 0, signs = 0;
  for (; place < text.size(); ++place) {
    char c = text[place];
    if (llvm::isSpace(c))
      continue;
    // Each sign before an affine expression is a call of the parser, as is each bracket.
    signs = c == '-' && at(place + 1) != '>' ? signs + 1 : 0;
    if (c == '"')
      skipString();
    else if (c == '/' && at(place + 1) == '/')
      place = std::min(text.find('\n', place), text.size());
    else if (c == '%') {
      if (llvm::Error error = checkValue())
        return error;
    } else if (c == '(' || c == '[' || c == '{' || (c == '<' && at(place + 1) != '='))
      ++depth;
    else if (c == ')' || c == ']' || c == '}' || (c == '>' && at(place + 1) != '=' && at(place - 1) != '-'))
      depth = std::max(depth - 1, 0);
    if (depth > kDeepest || signs > kDeepest)
      return failHere("nested too deeply");
  }
  return llvm::Error::success();
}

llvm::Error checkMlirText(StringRef text) { return TextCheck(text).run(); }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool isNumber(Type element) {
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return (llvm::isa<IntegerType>(element) && llvm::is_contained({1, 8, 16, 32, 64}, element.getIntOrFloatBitWidth())) ||
         llvm::isa<FloatType>(element);
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A tensor with symbolic sizes carries all of them in its encoding.
static llvm::Error checkTensor(RankedTensorType type, unsigned symbolCount) {
  if (!isNumber(type.getElementType()))
    return fail(describe(type) + " is no tensor of numbers");
  auto encoding = llvm::dyn_cast_or_null<AffineMapAttr>(type.getEncoding());
  if (type.getEncoding() ? !encoding : !type.hasStaticShape())
    return fail(describe(type) + " needs its sizes as an affine map over the module's symbols");
  if (!getTensorBytes(type))
    return fail(describe(type) + " is larger than memory");
  if (!encoding)
    return llvm::Error::success();
  AffineMap map = encoding.getValue();
  bool fits = map.getNumDims() == 0 && map.getNumResults() == unsigned(type.getRank());
  for (unsigned i = 0; fits && i < map.getNumResults(); ++i) {
    auto size = getConstant(map.getResult(i));
    fits = size ? *size == type.getDimSize(i) : type.isDynamicDim(i);
  }
  if (!fits)
    return fail(describe(type) + " says one thing in its sizes and another in their affine map");
  if (map.getNumSymbols() > symbolCount)
    return fail(describe(type) + " uses a symbol that 'ptc.symbols' does not have");
  return llvm::Error::success();
}

static llvm::Error checkTypes(ModuleOp module) {
  unsigned symbolCount = getSymbols(module).size();
  std::string why;
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    if (llvm::Error error = checkTensor(type, symbolCount)) {
      why = llvm::toString(std::move(error));
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  auto isBad = [&](auto range) {
    return llvm::any_of(range, [&](Type type) { return walker.walk(type).wasInterrupted(); });
  };
  module.walk([&](Operation *op) {
    bool bad = walker.walk(op->getAttrDictionary()).wasInterrupted() || isBad(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        bad = bad || isBad(block.getArgumentTypes());
    return bad ? WalkResult::interrupt() : WalkResult::advance();
  });
  return why.empty() ? llvm::Error::success() : fail(why);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The elements of a list that the module, or a function, may have.
static llvm::Expected<llvm::ArrayRef<Attribute>> getList(Operation *op, StringRef name) {
  Attribute attr = op->getAttr(name);
  auto list = llvm::dyn_cast_or_null<ArrayAttr>(attr);
  if (attr && !list)
    return fail("'" + name + "' is no list");
  return list ? list.getValue() : llvm::ArrayRef<Attribute>();
}

static llvm::Error checkSymbols(ModuleOp module) {
  auto list = getList(module, "ptc.symbols");
  if (!list)
    return list.takeError();
  for (auto [position, entry] : llvm::enumerate(*list)) {
    auto dict = llvm::dyn_cast<DictionaryAttr>(entry);
    auto isInt64 = [&](StringRef key) {
      auto value = dict.getAs<IntegerAttr>(key);
      return value && value.getType().isInteger(64);
    };
    if (!dict || !dict.getAs<StringAttr>("name") || !isInt64("min") || !isInt64("max"))
      return fail(
          "a symbol in 'ptc.symbols' needs a name, min and max (as {name = \"s0\", min = 2 : i64, max = -1 : i64})");
    if (!dict.get("op") && !dict.get("args"))
      continue;
    auto op = dict.getAs<StringAttr>("op");
    auto args = dict.getAs<AffineMapAttr>("args");
    auto comesBefore = [&](AffineExpr arg) {
      for (size_t later = position; later < list->size(); ++later)
        if (arg.isFunctionOfSymbol(later))
          return false;
      return true;
    };
    if (!op || (op.getValue() != "max" && op.getValue() != "min") || !args || args.getValue().getNumDims() ||
        args.getValue().getNumResults() != 2 || args.getValue().getNumSymbols() > position ||
        !llvm::all_of(args.getValue().getResults(), comesBefore))
      return fail("the symbol '" + dict.getAs<StringAttr>("name").getValue() +
                  "' follows by 'op' (max or min) from 'args', two sizes of symbols before it");
  }
  for (const Symbol &symbol : getSymbols(module))
    if (symbol.max != Symbol::kUnbounded && symbol.max < symbol.min)
      return fail("the symbol '" + symbol.name + "' has no value between its min and its max");
  return llvm::Error::success();
}

static llvm::Error checkGuards(Operation *op) {
  auto list = getList(op, "ptc.guards");
  if (!list)
    return list.takeError();
  for (Attribute entry : *list) {
    auto dict = llvm::dyn_cast<DictionaryAttr>(entry);
    if (!dict || !dict.getAs<StringAttr>("text"))
      return fail("a condition in 'ptc.guards' needs a text");
    auto relation = dict.getAs<StringAttr>("relation");
    if (!getSizeFromAttr(dict.get("value")) || !relation ||
        !llvm::is_contained({"eq", "ne", "lt", "le", "gt", "ge"}, relation.getValue()))
      return fail("the condition '" + dict.getAs<StringAttr>("text").getValue() +
                  "' in 'ptc.guards' needs a size as its value and a relation (eq, ne, lt, le, gt or ge)");
  }
  return llvm::Error::success();
}

/// What arguments and results are for is said by names.
static llvm::Error checkRoles(DictionaryAttr roles, const llvm::Twine &where) {
  for (NamedAttribute role : roles ? roles.getValue() : llvm::ArrayRef<NamedAttribute>())
    if (llvm::is_contained({"ptc.input", "ptc.default", "ptc.output", "ptc.weight", "ptc.state", "ptc.writes_input",
                            "ptc.writes_state", "ptc.carried", "ptc.carries"},
                           role.getName().getValue()) &&
        !llvm::isa<StringAttr>(role.getValue()))
      return fail(where + ": '" + role.getName().getValue() + "' is no name");
  return llvm::Error::success();
}

/// Inputs with a default are those at the end: callers count on the others' places. `last` is the one before, if any.
static llvm::Error checkDefault(func::FuncOp function, unsigned i, std::optional<unsigned> &last) {
  auto has = [&](StringRef role) { return function.getArgAttr(i, role) != nullptr; };
  if (!has("ptc.default")) {
    if (last && has("ptc.input"))
      return fail("argument " + llvm::Twine(*last) + ": 'ptc.default' before an input without one");
    return llvm::Error::success();
  }
  if (!has("ptc.input") || has("ptc.binds") ||
      !llvm::cast<RankedTensorType>(function.getArgumentTypes()[i]).hasStaticShape())
    return fail("argument " + llvm::Twine(i) + ": 'ptc.default' needs an input of static sizes");
  last = i;
  return llvm::Error::success();
}

/// What training is about: weights that it changes, and one number that it makes small.
static llvm::Error checkTraining(func::FuncOp function) {
  auto elementOf = [](Type tensor) { return llvm::cast<RankedTensorType>(tensor).getElementType(); };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    Attribute trainable = function.getArgAttr(i, "ptc.trainable");
    bool isWeight = function.getArgAttr(i, "ptc.weight") || function.getArgAttr(i, "ptc.state");
    if (trainable && (!llvm::isa<UnitAttr>(trainable) || !isWeight || !isTrainable(elementOf(type))))
      return fail("argument " + llvm::Twine(i) + ": 'ptc.trainable' needs a weight of floating or complex elements");
  }
  unsigned losses = 0;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    Attribute loss = function.getResultAttr(i, "ptc.loss");
    losses += loss != nullptr;
    bool isNumber = llvm::cast<RankedTensorType>(type).getRank() == 0 && llvm::isa<FloatType>(elementOf(type));
    if (loss && (!llvm::isa<UnitAttr>(loss) || !isNumber || losses > 1))
      return fail("result " + llvm::Twine(i) + ": 'ptc.loss' needs one floating number without dimensions");
  }
  return llvm::Error::success();
}

/// What callers see of a function is what they see of one that answers the calls which do not fit it.
static llvm::Error checkGeneral(func::FuncOp function) {
  Attribute of = function->getAttr("ptc.general_of");
  if (!of)
    return llvm::Error::success();
  auto name = llvm::dyn_cast<StringAttr>(of);
  auto other = name ? function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(name) : func::FuncOp();
  if (!other || function.isPrivate() || other.isPrivate() || other->hasAttr("ptc.general_of"))
    return fail("'ptc.general_of' of @" + function.getName() + " is no entry");
  auto inputs = [](func::FuncOp one) {
    llvm::SmallVector<std::pair<Attribute, Type>> found;
    for (auto [i, type] : llvm::enumerate(one.getArgumentTypes()))
      if (Attribute input = one.getArgAttr(i, "ptc.input"))
        found.push_back({input, type});
    return found;
  };
  auto outputs = [](func::FuncOp one) {
    llvm::SmallVector<std::tuple<Attribute, Type, int64_t>> found;
    for (unsigned i = 0; i < one.getNumResults(); ++i)
      if (Attribute output = one.getResultAttr(i, "ptc.output")) {
        auto type = llvm::cast<RankedTensorType>(one.getResultTypes()[i]);
        found.push_back({output, type.getElementType(), type.getRank()});
      }
    return found;
  };
  if (inputs(function) != inputs(other) || outputs(function) != outputs(other))
    return fail("@" + function.getName() + " has other inputs or outputs than @" + name.getValue() +
                ", whose calls it is to answer");
  return llvm::Error::success();
}

static llvm::Error checkFunction(func::FuncOp function) {
  unsigned symbolCount = getSymbols(function).size();
  std::optional<unsigned> lastDefault;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string where = "argument " + std::to_string(i);
    if (!llvm::isa<RankedTensorType>(function.getArgumentTypes()[i]))
      return fail(where + " is no tensor");
    if (llvm::Error error = checkRoles(function.getArgAttrDict(i), where))
      return error;
    Attribute binds = function.getArgAttr(i, "ptc.binds");
    auto number = llvm::dyn_cast_or_null<IntegerAttr>(binds);
    auto scalar = RankedTensorType::get({}, IntegerType::get(function.getContext(), 64));
    if (binds && (!number || number.getValue().uge(symbolCount) || function.getArgumentTypes()[i] != scalar))
      return fail(where + ": 'ptc.binds' needs the number of a symbol, on a tensor<i64>");
    if (llvm::Error error = checkDefault(function, i, lastDefault))
      return error;
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!llvm::isa<RankedTensorType>(function.getResultTypes()[i]))
      return fail("result " + llvm::Twine(i) + " is no tensor");
    if (llvm::Error error = checkRoles(function.getResultAttrDict(i), "result " + llvm::Twine(i)))
      return error;
  }
  if (llvm::Error error = checkGuards(function))
    return error;
  if (llvm::Error error = checkGeneral(function))
    return error;
  return checkTraining(function);
}

/// Public functions are entries: @forward, and what training adds. Each of the others is called once, by a control
/// operation that an entry leads to: so there is no recursion.
static llvm::Error checkCalls(ModuleOp module) {
  llvm::SmallVector<func::FuncOp> reached;
  llvm::DenseSet<Operation *> called;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate()) {
      reached.push_back(function);
      called.insert(function);
    }
  bool isTree = true;
  for (size_t i = 0; isTree && i < reached.size(); ++i)
    func::FuncOp(reached[i]).walk([&](Operation *op) {
      for (func::FuncOp function : control::getFunctions(op))
        if (function) {
          isTree &= called.insert(function).second && function.isPrivate();
          reached.push_back(function);
        }
    });
  if (!isTree || reached.size() != size_t(std::distance(module.getBody()->begin(), module.getBody()->end())))
    return fail("a private function must be called by one control operation, and a public one by none");
  return llvm::Error::success();
}

llvm::Error checkMlirModule(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  auto function = module.lookupSymbol<func::FuncOp>("forward");
  if (!function || function.isExternal())
    return fail("has no function @forward with a body");
  for (Operation &op : *module.getBody())
    if (auto other = llvm::dyn_cast<func::FuncOp>(op); !other || !llvm::hasSingleElement(other.getBody()))
      return fail("a model is functions of one block, and nothing else");
  if (llvm::Error error = checkCalls(module))
    return error;
  auto isStrange = [](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool isContainer = llvm::isa<ModuleOp, func::FuncOp, func::ReturnOp>(op);
    return (dialect == "builtin" || dialect == "func") && !isContainer;
  };
  Operation *strange = nullptr;
  module.walk([&](Operation *op) { strange = isStrange(op) ? op : strange; });
  if (strange)
    return fail("'" + strange->getName().getStringRef() + "' has no place in a model");
  if (llvm::Error error = checkSymbols(module))
    return error;
  if (llvm::Error error = checkGuards(module))
    return error;
  if (llvm::Error error = checkTypes(module))
    return error;
  for (func::FuncOp one : functions)
    if (llvm::Error error = checkFunction(one))
      return error;
  return llvm::Error::success();
}

} // namespace ptc::import
