// why: findings stand on their lines of the text, whatever `loc` says
#k = loc("k.py":10:3)
#called = loc("helper.py":3:1)
#nested = loc(callsite(#called at #k))
module {
  gpu.module @places [#nvvm.target<chip = "sm_90">] {
    llvm.func @k(%out: !llvm.ptr loc("out"(#k))) attributes {nvvm.kernel, gpu.kernel} {
      %none = llvm.mlir.constant(0 : i32) : i32 loc(#k)
      nvvm.bar.warp.sync %none : i32 loc(#k) //~ PTX407
      nvvm.bar.warp.sync %none : i32 loc("k.py":30:5 to 31:7) //~ PTX407
      nvvm.bar.warp.sync %none : i32 loc("name"("k.py":13:3)) //~ PTX407
      nvvm.bar.warp.sync %none : i32 loc(fused<"pass">[unknown, "q.py":20:3]) //~ PTX407
      nvvm.bar.warp.sync %none : i32 loc(fused["k.py":11:3, "l.py":12:4]) //~ PTX407
      nvvm.bar.warp.sync %none : i32 loc(#nested) //~ PTX407
      nvvm.bar.warp.sync %none : i32 //~ PTX407
      gpu.barrier loc(#k)
      llvm.return loc(#k)
    } loc(#k)
  } loc(#k)
} loc(#k)
