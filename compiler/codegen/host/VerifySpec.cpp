#include "compiler/codegen/host/VerifySpec.h"

using namespace llvm;

namespace ptc::host {

int64_t rootOf(const ProgramSpec &spec, int64_t buffer) {
  while (spec.buffers[buffer].inPlaceOf >= 0)
    buffer = spec.buffers[buffer].inPlaceOf;
  return buffer;
}

static_assert(kMostMapDims == runtime::kMostMapDims);

static Error fail(const Twine &what) { return createStringError("program: " + what); }

/// What lifetimes count: launches, or, where functions of the caller's do everything, one.
static size_t timeSteps(const ProgramSpec &spec) { return std::max<size_t>(spec.launches.size(), 1); }

static Error verifyBuffer(const ProgramSpec &spec, int64_t index) {
  const BufferSpec &buffer = spec.buffers[index];
  auto within = [](int64_t value, size_t count) { return value >= 0 && value < static_cast<int64_t>(count); };
  auto isIndexed = [&](size_t count) { return within(buffer.index, count); };
  bool isFine = true;
  switch (buffer.storage) {
  case Storage::Input:
    isFine = isIndexed(spec.inputs.size());
    break;
  case Storage::Output:
    isFine = isIndexed(spec.outputs.size());
    break;
  case Storage::State:
    isFine = isIndexed(spec.states.size());
    break;
  case Storage::Weight:
    isFine = isIndexed(spec.weights.size());
    break;
  case Storage::Arena:
    isFine = buffer.bytes &&
             (buffer.inPlaceOf >= 0 || (buffer.first <= buffer.last && within(buffer.first, timeSteps(spec)) &&
                                        within(buffer.last, timeSteps(spec))));
    break;
  }
  if (!isFine)
    return fail("buffer " + Twine(index) + " has an index, a size or a lifetime that cannot be");

  size_t steps = 0;
  for (int64_t at = index; spec.buffers[at].inPlaceOf >= 0; at = spec.buffers[at].inPlaceOf)
    if (!within(spec.buffers[at].inPlaceOf, spec.buffers.size()) || ++steps > spec.buffers.size())
      return fail("buffer " + Twine(index) + " is in place of no buffer, or of itself");
  return Error::success();
}

Error verifySpec(const ProgramSpec &spec) {
  int64_t buffers = spec.buffers.size();
  for (int64_t i = 0; i < buffers; ++i)
    if (Error error = verifyBuffer(spec, i))
      return error;
  for (const LaunchSpec &launch : spec.launches) {
    if (spec.device ? launch.grids.empty() : launch.kernel.empty() || !launch.tasks)
      return fail("launch '" + launch.name + "' has no kernel or no tasks");
    for (int64_t arg : launch.args)
      if (arg < 0 || arg >= buffers)
        return fail("launch '" + launch.name + "' has no buffer " + Twine(arg));
    for (const GridSpec &grid : launch.grids) {
      if (grid.maps.size() > runtime::kMostMaps)
        return fail("launch '" + launch.name + "' has too many maps of tensors");
      for (const TensorMap &map : grid.maps)
        if (map.argument >= launch.args.size() || map.sizes.size() > runtime::kMostMapDims ||
            map.strides.size() + 1 != map.sizes.size() || map.box.size() != map.sizes.size())
          return fail("launch '" + launch.name + "' has a map of a tensor that cannot be");
    }
  }
  for (const CopySpec &copy : spec.copies)
    if (copy.from < 0 || copy.from >= buffers || copy.to < 0 || copy.to >= buffers)
      return fail("a copy has no buffer");
  for (const SizeDefinitionSpec &definition : spec.sizeDefinitions)
    if (definition.buffer < 0 || definition.buffer >= buffers || definition.launch < 0 ||
        definition.launch > static_cast<int64_t>(spec.launches.size()) || definition.symbol < 0 ||
        definition.symbol >= static_cast<int64_t>(spec.symbols.size()))
      return fail("a size that data decide has no symbol, buffer or launch");
  int64_t controls = spec.controls.size(), launches = spec.launches.size(), before = 0;
  for (const ControlSpec &control : spec.controls) {
    bool isFine = control.launch >= before && control.launch <= launches && control.condition < buffers &&
                  control.target.launch >= 0 && control.target.launch <= launches && control.target.control > 0 &&
                  control.target.control <= controls &&
                  spec.controls[control.target.control - 1].launch == control.target.launch &&
                  control.external < int64_t(spec.externals.size());
    for (const CopySpec &copy : control.copies)
      isFine &= copy.from >= 0 && copy.from < buffers && copy.to >= 0 && copy.to < buffers;
    if (!isFine)
      return fail("a control has no buffer or target, or is not in order");
    before = control.launch;
  }
  for (const ExternalSpec &external : spec.externals)
    for (const std::vector<ExternalTensor> &tensors : {external.inputs, external.outputs})
      for (const ExternalTensor &tensor : tensors)
        if (tensor.buffer >= buffers || (tensor.buffer >= 0) != bool(tensor.type))
          return fail("a call of '" + external.callee + "' has no buffer or type");
  for (const StateSpec &state : spec.states) {
    if (!state.type.hasStaticShape())
      return fail("state '" + state.name + "' has a symbolic size");
    if (state.initial < 0 || state.initial >= static_cast<int64_t>(spec.weights.size()))
      return fail("state '" + state.name + "' has no first value");
  }
  bool isBehind = false;
  for (const InputSpec &input : spec.inputs) {
    if (isBehind && !input.isOptional())
      return fail("input '" + input.name + "' is behind one that may be left out");
    isBehind = input.isOptional();
    if (input.isOptional() && (!input.type.hasStaticShape() || input.isWritten || input.bindsSymbol >= 0 ||
                               input.initial >= static_cast<int64_t>(spec.weights.size())))
      return fail("input '" + input.name + "' cannot be left out");
    if (input.bindsSymbol >= static_cast<int64_t>(spec.symbols.size()) ||
        (input.bindsSymbol >= 0 && (input.type.getRank() != 0 || !input.type.getElementType().isInteger(64))))
      return fail("input '" + input.name + "' cannot define a symbol");
  }
  return Error::success();
}

Expected<OrderedCopies> orderCopies(const ProgramSpec &spec) {
  std::vector<CopySpec> waiting;
  for (const CopySpec &copy : spec.copies)
    if (rootOf(spec, copy.from) != rootOf(spec, copy.to))
      waiting.push_back(copy);

  OrderedCopies ordered;
  std::vector<int64_t> readSinceBarrier;
  while (!waiting.empty()) {
    auto isReady = [&](const CopySpec &copy) {
      return none_of(waiting, [&](const CopySpec &other) {
        return &other != &copy && rootOf(spec, other.from) == rootOf(spec, copy.to);
      });
    };
    auto next = find_if(waiting, isReady);
    if (next == waiting.end())
      return fail("states or inputs that exchange their values need a buffer between");
    bool needsBarrier = is_contained(readSinceBarrier, rootOf(spec, next->to));
    if (needsBarrier)
      readSinceBarrier.clear();
    readSinceBarrier.push_back(rootOf(spec, next->from));
    ordered.copies.push_back(*next);
    ordered.needsBarrier.push_back(needsBarrier);
    waiting.erase(next);
  }
  return ordered;
}

} // namespace ptc::host
