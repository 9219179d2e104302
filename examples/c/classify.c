/* Classifies one handwritten digit with a model compiled by ptc (examples/digits):
 *
 *     ptc compile examples/digits/model.pt2 -o digits.so
 *     cc -std=c99 -Iruntime/include examples/c/classify.c -o classify -ldl && ./classify ./digits.so
 */
#include <dlfcn.h>
#include <ptc/ptc.h>
#include <stdio.h>

static const char *const zero = "  oOOo  "
                                " oOOOOo "
                                " OO  oO "
                                " Oo  oO "
                                " Oo  oO "
                                " OO  OO "
                                " oOooOo "
                                "  oOOo  ";

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return fprintf(stderr, "usage: classify ./digits.so (%s)\n", argc == 2 ? dlerror() : "no library"), 2;
  const ptc_api *(*get_api)(uint32_t);
  *(void **)&get_api = dlsym(library, "ptc_get_api");
  const ptc_api *ptc = get_api ? get_api(PTC_ABI_VERSION) : NULL;
  ptc_context *context;
  if (!ptc || ptc->context_create(&context) != PTC_OK)
    return fprintf(stderr, "not a model, or not for this machine\n"), 1;

  float image[64], probabilities[10];
  for (int i = 0; i < 64; ++i)
    image[i] = zero[i] == 'O' ? 16 : zero[i] == 'o' ? 9 : 0;
  int64_t image_shape[] = {1, 1, 8, 8}, result_shape[] = {1, 10};
  DLTensor x = {image, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, image_shape, NULL, 0};
  DLTensor y = {probabilities, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, result_shape, NULL, 0};
  const DLTensor *inputs[] = {&x};
  DLTensor *outputs[] = {&y};
  if (ptc->call(context, inputs, 1, outputs, 1) != PTC_OK)
    return fprintf(stderr, "%s\n", ptc->last_error(context)), 1;

  for (int digit = 0; digit < 10; ++digit)
    printf("%d: %5.1f%%\n", digit, 100 * probabilities[digit]);
  ptc->context_destroy(context);
  return 0;
}
