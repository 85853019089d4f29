// why: masks that name other lanes than those that execute the operation
// ptxcheck-args: -W potential
gpu.module @masks [#nvvm.target<chip = "sm_90">] {
  llvm.func @half_by_all(%out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %mask = llvm.mlir.constant(0x0000ffff : i32) : i32
    %offset = llvm.mlir.constant(8 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = nvvm.shfl.sync down %mask, %t, %offset, %clamp : i32 -> i32 //~ PTX403
    llvm.store %s, %out : i32, !llvm.ptr //~ PTX417?
    llvm.return
  }

  llvm.func @nobody(%out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %mask = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %mask : i32 //~ PTX407
    llvm.return
  }

  llvm.func @all_in_half(%in: !llvm.ptr, %out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %half = llvm.mlir.constant(16 : i32) : i32
    %offset = llvm.mlir.constant(8 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %from = llvm.getelementptr %in[%t] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %v = llvm.load %from : !llvm.ptr -> i32
    %c = llvm.icmp "ult" %t, %half : i32
    llvm.cond_br %c, ^first, ^end(%v : i32)
  ^first:
    %s = nvvm.shfl.sync bfly %all, %v, %offset, %clamp : i32 -> i32 //~ PTX401
    llvm.br ^end(%s : i32)
  ^end(%r: i32):
    %to = llvm.getelementptr %out[%t] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    llvm.store %r, %to : i32, !llvm.ptr
    llvm.return
  }

  llvm.func @right(%out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %offset = llvm.mlir.constant(8 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = nvvm.shfl.sync down %all, %t, %offset, %clamp : i32 -> i32
    nvvm.bar.warp.sync %all : i32
    llvm.store %s, %out : i32, !llvm.ptr //~ PTX417?
    llvm.return
  }
}
