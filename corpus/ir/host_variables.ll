target triple = "nvptx64-nvidia-cuda"

@known = internal constant i32 10, align 4, !dbg !10
@later = external constant i32, align 4, !dbg !14
@limits = internal constant { i32, i32 } { i32 1, i32 9 }, align 4, !dbg !16
@changing = internal constant i32 3, align 4, !dbg !20
@copied = addrspace(4) externally_initialized constant i32 3, align 4, !dbg !20
@promoted = internal addrspace(4) constant i32 10, align 4, !dbg !10
@counter = global i32 0, align 4, !dbg !24
@shown = internal constant i32 11, align 4, !dbg !26
@unused = global i32 0, align 4, !dbg !24
@.str = private unnamed_addr constant [3 x i8] c"%d\00", align 1, !dbg !28

define ptx_kernel void @k(ptr %out) !dbg !5 {
  %1 = load i32, ptr @known, align 4, !dbg !30
  %2 = load i32, ptr @later, align 4, !dbg !31
  %3 = load i32, ptr getelementptr inbounds ({ i32, i32 }, ptr @limits, i32 0, i32 1), align 4, !dbg !32
  %4 = load i32, ptr @changing, align 4, !dbg !33
  %5 = load i32, ptr addrspacecast (ptr addrspace(4) @copied to ptr), align 4, !dbg !34
  %6 = load i32, ptr addrspacecast (ptr addrspace(4) @promoted to ptr), align 4, !dbg !35
  store ptr @shown, ptr %out, align 8, !dbg !36
  store i32 %6, ptr @counter, align 4, !dbg !37
  %7 = load i8, ptr @.str, align 1, !dbg !37
  ret void, !dbg !37
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "host.cu", directory: "/build")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 9, type: !6, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !8)
!10 = !DIGlobalVariableExpression(var: !11, expr: !DIExpression())
!11 = distinct !DIGlobalVariable(name: "known", scope: !0, file: !1, line: 1, type: !9, isLocal: true, isDefinition: true)
!14 = !DIGlobalVariableExpression(var: !15, expr: !DIExpression())
!15 = distinct !DIGlobalVariable(name: "later", scope: !0, file: !1, line: 2, type: !9, isLocal: false, isDefinition: false)
!16 = !DIGlobalVariableExpression(var: !17, expr: !DIExpression())
!17 = distinct !DIGlobalVariable(name: "limits", scope: !0, file: !1, line: 3, type: !18, isLocal: true, isDefinition: true)
!18 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !19)
!19 = !DICompositeType(tag: DW_TAG_structure_type, name: "Limits", file: !1, line: 3, size: 64, elements: !7)
!20 = !DIGlobalVariableExpression(var: !21, expr: !DIExpression())
!21 = distinct !DIGlobalVariable(name: "changing", scope: !0, file: !1, line: 4, type: !22, isLocal: true, isDefinition: true)
!22 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !23)
!23 = !DIDerivedType(tag: DW_TAG_volatile_type, baseType: !8)
!24 = !DIGlobalVariableExpression(var: !25, expr: !DIExpression())
!25 = distinct !DIGlobalVariable(name: "counter", scope: !0, file: !1, line: 5, type: !8, isLocal: false, isDefinition: true)
!26 = !DIGlobalVariableExpression(var: !27, expr: !DIExpression())
!27 = distinct !DIGlobalVariable(name: "shown", scope: !0, file: !1, line: 6, type: !9, isLocal: true, isDefinition: true)
!28 = !DIGlobalVariableExpression(var: !29, expr: !DIExpression())
!29 = distinct !DIGlobalVariable(scope: null, file: !1, line: 7, type: !8, isLocal: true, isDefinition: true)
!30 = !DILocation(line: 10, column: 3, scope: !5)
!31 = !DILocation(line: 11, column: 3, scope: !5)
!32 = !DILocation(line: 12, column: 3, scope: !5)
!33 = !DILocation(line: 13, column: 3, scope: !5)
!34 = !DILocation(line: 14, column: 3, scope: !5)
!35 = !DILocation(line: 15, column: 3, scope: !5)
!36 = !DILocation(line: 16, column: 3, scope: !5)
!37 = !DILocation(line: 17, column: 3, scope: !5)
