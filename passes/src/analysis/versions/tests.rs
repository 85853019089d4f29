use super::{Version, Versions};
use crate::ir::{BlockId, FunctionId, InstructionId, Register};
use crate::testing::with_ptx;

/// The versions of a kernel of this code, for all its instructions, as lines: what meets in which block, and what each
/// block reads of the registers that have versions. A definition is named after its place among those of its register.
fn versions(code: &str) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n\
         mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\n{code}\n}}\n"
    );
    with_ptx(&text, |context| {
        let function = context.function(FunctionId::new(0));
        let body = context.module.functions[0]
            .body
            .as_ref()
            .unwrap_or_else(|| panic!("{text}"));
        let (cfg, definitions) = (function.cfg(), function.definitions());
        let steps: Vec<InstructionId> = (0..body.instructions.len()).map(InstructionId::new).collect();
        let versions = Versions::new(body, (cfg, function.dominators(), definitions), &steps, 1_000);
        let versions = versions.unwrap_or_else(|| panic!("{text}"));
        let register = |register: Register| {
            let name = body.registers[register.index()].name;
            text[name.start as usize..name.end as usize].to_owned()
        };
        let mut names = vec![String::new(); versions.count()];
        for number in 0..body.registers.len() {
            let of = Register::new(number);
            if versions.has(of) {
                for (place, &by) in definitions.of(of).iter().enumerate() {
                    names[versions.made(definitions, of, by).index()] = format!("{}.{place}", register(of));
                }
            }
        }
        let blocks = || (0..body.blocks.len()).map(BlockId::new);
        for meeting in blocks().flat_map(|block| versions.meetings(block)) {
            names[meeting.version.index()] =
                format!("{}@{}", register(meeting.register), meeting.block.index());
        }
        let name = |version: Version| match version {
            Version::NONE => "none",
            version => names[version.index()].as_str(),
        };
        let mut lines = Vec::new();
        for block in blocks() {
            for meeting in versions.meetings(block) {
                let of: Vec<&str> = versions
                    .operands(meeting, cfg)
                    .iter()
                    .map(|&version| name(version))
                    .collect();
                lines.push(format!("{} = {}", name(meeting.version), of.join(" ")));
            }
            for entry in versions.entries(block) {
                lines.push(format!("{}: {}", block.index(), name(entry.version)));
            }
        }
        lines
    })
}

#[test]
fn one_definition_is_one_version() {
    assert!(versions("@%p0 bra L; add.u32 %r1, %r0, 1; L: ret;").is_empty());
}

#[test]
fn two_ways_meet_where_they_join() {
    let code = "mov.u32 %r1, 1; @%p0 bra L; mov.u32 %r1, 2; L: add.u32 %r2, %r1, 1; ret;";
    assert_eq!(versions(code), ["%r1@2 = %r1.0 %r1.1", "2: %r1@2"]);
    // Where nobody reads it, nothing meets.
    let code = "mov.u32 %r1, 1; @%p0 bra L; mov.u32 %r1, 2; L: ret;";
    assert!(versions(code).is_empty());
    // What both ways go past is the same as before.
    let code = "mov.u32 %r1, 1; mov.u32 %r1, 3; @%p0 bra L; mov.u32 %r2, 2; L: add.u32 %r3, %r1, 1; ret;";
    assert_eq!(versions(code), ["2: %r1.1"]);
}

#[test]
fn a_loop_meets_what_comes_round_it() {
    let code = "mov.u32 %r1, 1; L: add.u32 %r1, %r1, 1; @%p0 bra L; add.u32 %r2, %r1, 1; ret;";
    assert_eq!(versions(code), ["%r1@1 = %r1.0 %r1.1", "1: %r1@1", "2: %r1.1"]);
}

#[test]
fn a_guard_keeps_what_was_there() {
    let code = "mov.u32 %r1, 1; bra M; M: @%p0 mov.u32 %r1, 2; bra L; L: add.u32 %r2, %r1, 1; ret;";
    assert_eq!(versions(code), ["1: %r1.0", "2: %r1.1"]);
}

#[test]
fn a_way_may_have_no_definition() {
    let code = "@%p0 bra L; mov.u32 %r1, 2; mov.u32 %r1, 3; L: add.u32 %r2, %r1, 1; ret;";
    assert_eq!(versions(code), ["%r1@2 = none %r1.1", "2: %r1@2"]);
}

#[test]
fn an_argument_is_read() {
    let code = "mov.u32 %r1, 1; @%p0 bra L; mov.u32 %r1, 2; L: { .param .b32 p; st.param.b32 [p], %r1; \
                call.uni f, (p); } ret;";
    let lines = versions(&format!(
        "{code}\n}}\n.extern .func f(.param .b32 p);\n.visible .entry l() {{ ret;"
    ));
    assert!(lines.contains(&"2: %r1@2".to_owned()), "{lines:?}");
}
