"""Writes the LLVM IR of the kernels in corpus/python, for several targets. No GPU is needed.

usage: write_ir.py triton|numba PACKAGES KERNELS FOLDER
PACKAGES is where pip has put Triton and Numba, KERNELS the folder with the sources, FOLDER takes the .ll files.
"""

import pathlib
import site
import sys


def triton_ir(kernels, write):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for sm in (75, 90, 120):
        for function, signature, constants in kernels:
            types = signature | {name: "constexpr" for name in constants}
            source = ASTSource(fn=function, signature=types, constexprs=constants)
            compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"debug": True})
            write(f"{function.__name__}.sm_{sm}", compiled.asm["llir"])


def numba_ir(kernels, write):
    from numba import cuda
    from numba.cuda.codegen import CUDACodeLibrary

    texts = []
    # The IR is wanted, and not what NVVM makes of it.
    CUDACodeLibrary.get_asm_strs = lambda library, cc=None: texts.extend(library.llvm_strs) or [""]
    for cc in ((7, 5), (9, 0)):
        for function, signature in kernels:
            for debug in (False, True):
                texts.clear()
                cuda.compile(
                    function, signature, cc=cc, debug=debug, opt=not debug, lineinfo=not debug, device=False, abi="numba"
                )
                mode = "G" if debug else "O3"
                for number, text in enumerate(texts):
                    write(f"{function.__name__}.sm_{cc[0]}{cc[1]}.{mode}.{number}", text)


def main():
    what, packages, sources, folder = sys.argv[1:]
    # Runs the packages' .pth files, too: numba-cuda takes the place of numba.cuda with one.
    site.addsitedir(packages)
    sys.path.insert(0, sources)
    kernels = __import__(f"{what}_kernels").KERNELS
    writers = {"triton": triton_ir, "numba": numba_ir}
    writers[what](kernels, lambda name, text: (pathlib.Path(folder) / f"{name}.ll").write_text(text))


main()
