; why: of several PTX versions among a function's features LLVM takes the highest that is on, in whatever order they stand
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%large = type { [8000 x i8] }
%huge = type { [40000 x i8] }

; PTX ISA 8.8 and sm_90: 32,764 bytes.
define ptx_kernel void @fits(ptr byval(%large) align 8 %parameter) #0 {
  ret void
}

define ptx_kernel void @does_not_fit(ptr byval(%huge) align 8 %parameter) #0 { ; //~ PTX301
  ret void
}

; A function of a library for an older target says nothing of the module.
define void @of_a_library() #1 {
  ret void
}

attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx42,+ptx88,+sm_90" }
attributes #1 = { "target-cpu"="sm_52" "target-features"="+ptx63,-ptx88" }
