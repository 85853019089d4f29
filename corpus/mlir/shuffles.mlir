// why: a shuffle among fewer than 32 lanes names the lanes of the first group alone once LLVM lowers it, and all lanes execute it
gpu.module @shuffles [#nvvm.target<chip = "sm_90">] {
  gpu.func @eighths(%in: !llvm.ptr, %out: !llvm.ptr) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %from : !llvm.ptr -> f32
    %offset = arith.constant 4 : i32
    %width = arith.constant 8 : i32
    %s, %ok = gpu.shuffle down %v, %offset, %width : f32 //~ PTX403
    %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %s, %to : f32, !llvm.ptr
    gpu.return
  }

  gpu.func @wholes(%in: !llvm.ptr, %out: !llvm.ptr) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %from : !llvm.ptr -> f32
    %offset = arith.constant 4 : i32
    %width = arith.constant 32 : i32
    %s, %ok = gpu.shuffle xor %v, %offset, %width : f32
    %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %s, %to : f32, !llvm.ptr
    gpu.return
  }
}
