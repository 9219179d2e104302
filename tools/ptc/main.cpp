#include "lld/Common/Driver.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

int main(int argc, char **argv) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect>();
  llvm::InitializeNativeTarget();
  if (argc < 2)
    return 0;
  const char *args[] = {"ld.lld", "--version"};
  return lld::lldMain(args, llvm::outs(), llvm::errs(), {{lld::Gnu, &lld::elf::link}}).retCode;
}

