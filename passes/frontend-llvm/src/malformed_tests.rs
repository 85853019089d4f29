//! Bitcode that LLVM reads and that is not well formed.

use super::{Context, with_module};

/// A function with one block, of inline assembly that branches, that nothing ends.
#[test]
fn assembly_that_branches_may_end_a_block_without_a_terminator() {
    let context = Context::create();
    let module = context.create_module("input");
    module.set_triple(&inkwell::targets::TargetTriple::create("nvptx64-nvidia-cuda"));
    let number = context.i32_type();
    let function = module.add_function("f", context.void_type().fn_type(&[number.into()], false), None);
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    let text = "{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bra L; membar.gl; L: }";
    let ty = context.void_type().fn_type(&[number.into()], false);
    let assembly = context.create_inline_asm(ty, text.to_owned(), "r".to_owned(), true, false, None, false);
    let argument = function.get_first_param().unwrap();
    builder
        .build_indirect_call(ty, assembly, &[argument.into()], "")
        .unwrap();
    let bitcode = module.write_bitcode_to_memory();
    let blocks = with_module(bitcode.as_slice(), |module| {
        ptxcheck_ir::verify(module).unwrap();
        let (_, _, body) = module.bodies().next().unwrap();
        body.blocks.len()
    });
    assert!(blocks.unwrap() > 2);
}
