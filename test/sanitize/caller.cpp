//===- caller.cpp - calls the model that it is linked with, on several threads -===//
//
//   caller INPUTS
//
// INPUTS, as models.py writes it, has the tensors of several calls. Every call
// is made with different numbers of threads, from two callers at once, and must
// answer the same bytes each time.
//
//===----------------------------------------------------------------------===//

#include <ptc/ptc.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Input {
  std::vector<int64_t> shape;
  std::vector<char> bytes; // of its own, so that what is read beside it is seen
  DLTensor view;
};

using Call = std::list<Input>;

int64_t readNumber(std::ifstream &in) {
  int64_t number = 0;
  in.read(reinterpret_cast<char *>(&number), sizeof number);
  return number;
}

Call readCall(std::ifstream &in) {
  Call call(readNumber(in));
  for (Input &input : call) {
    auto code = uint8_t(readNumber(in)), bits = uint8_t(readNumber(in));
    input.shape.resize(readNumber(in));
    for (int64_t &size : input.shape)
      size = readNumber(in);
    input.bytes.resize(readNumber(in));
    in.read(input.bytes.data(), input.bytes.size());
    input.bytes.shrink_to_fit();
    int32_t rank = input.shape.size();
    input.view = {input.bytes.data(), {kDLCPU, 0}, rank, {code, bits, 1}, input.shape.data(), nullptr, 0};
  }
  return call;
}

/// The results' bytes, or nothing.
std::string answer(ptc_context *context, const Call &call) {
  std::vector<const DLTensor *> inputs;
  for (const Input &input : call)
    inputs.push_back(&input.view);
  std::vector<DLManagedTensor *> outputs(ptc_get_signature()->output_count);
  ptc_status status = ptc_call_new(context, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  if (status != PTC_OK) {
    std::fprintf(stderr, "%s\n", ptc_last_error(context));
    return {};
  }
  std::string bytes = "answered";
  for (DLManagedTensor *output : outputs) {
    const DLTensor &tensor = output->dl_tensor;
    size_t size = (tensor.dtype.bits + 7) / 8;
    for (int32_t i = 0; i < tensor.ndim; ++i)
      size *= tensor.shape[i];
    bytes.append(static_cast<const char *>(tensor.data), size);
    output->deleter(output);
  }
  return bytes;
}

} // namespace

int main(int argc, char **argv) {
  std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
  std::list<Call> calls;
  for (int64_t count = readNumber(in); count > 0; --count)
    calls.push_back(readCall(in));
  bool isRight = !calls.empty();
  for (const Call &call : calls) {
    std::string expected;
    for (int32_t threads : {1, 2, 5, 3}) {
      std::string found[2];
      auto work = [&](std::string &found) {
        ptc_context *context = nullptr;
        if (ptc_context_create(&context) != PTC_OK)
          return;
        ptc_set_threads(context, threads);
        ptc_set_waiting(context, threads == 5 ? PTC_WAIT_ACTIVE : PTC_WAIT_DEFAULT);
        found = answer(context, call);
        ptc_context_destroy(context);
      };
      std::thread other(work, std::ref(found[1]));
      work(found[0]);
      other.join();
      expected = expected.empty() ? found[0] : expected;
      isRight = isRight && !expected.empty() && found[0] == expected && found[1] == expected;
    }
  }
  if (!isRight)
    std::fprintf(stderr, "a call failed, or its answer depends on the threads\n");
  return isRight ? 0 : 1;
}
