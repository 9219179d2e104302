// make_model NAME OUT.so: one of the models made by hand, for tests in other languages.
// make_model NAME OUT.o: its tables alone, to be linked with runtime and kernels.
#include "test/link/TestModel.h"

#include <cstdio>

using namespace ptc::test;

int main(int argc, char **argv) try {
  Models models;
  const std::map<std::string, Model> all = {{"affine", models.affine(1 << 20)},
                                            {"running", models.running()},
                                            {"look_up", models.lookUp()},
                                            {"digits", models.digits()},
                                            {"increment", models.increment()},
                                            {"scalar", models.scalar()},
                                            {"external", models.external()},
                                            {"optional", models.optional()},
                                            {"neighbours", models.neighbours(40, 1 << 20)}};
  if (argc != 3 || !all.count(argv[1]))
    return fprintf(stderr, "usage: make_model NAME OUT.so\n"), 2;
  const std::string path = argv[2];
  if (path.size() > 2 && path.substr(path.size() - 2) == ".o")
    emitHostObject(all.at(argv[1]), path);
  else
    build(all.at(argv[1]), path);
  return 0;
} catch (const std::exception &error) {
  return fprintf(stderr, "make_model: %s\n", error.what()), 1;
}
