//! A rule in a crate of its own runs beside ours, is selected like ours, and finds what it looks for.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

#[path = "../../examples/own_rule.rs"]
#[allow(dead_code, reason = "its `main`")]
mod example;

use ptxcheck_passes::settings::{Change, LevelSetting};
use ptxcheck_passes::{Bytes, Input, Level, Selector, Settings, check};

const PRINTS: &str = "\
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .entry loud(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [p];
	bar.warp.sync 0;
	{
	.param .b64 a;
	st.param.b64 [a], %rd1;
	.param .b64 b;
	st.param.b64 [b], %rd1;
	.param .b32 r;
	call.uni (r), vprintf, (a, b);
	}
	ret;
}
.visible .entry quiet()
{
	ret;
}
";

fn found(settings: &Settings) -> Vec<(&'static str, Level, Option<u32>)> {
    let input = Input {
        name: "prints.ptx".to_owned(),
        bytes: Bytes::Memory(PRINTS.as_bytes().to_vec()),
    };
    let outcome = check(vec![input], settings);
    let findings = outcome.findings.iter();
    findings
        .map(|finding| {
            let line = finding.location.as_ref().map(|place| place.line);
            (finding.rule.code, finding.level, line)
        })
        .collect()
}

#[test]
fn a_rule_of_ones_own_runs_beside_ours() {
    let mut settings = example::settings().unwrap();
    let zero_mask = ("PTX407", Level::Error, Some(10));
    assert_eq!(
        found(&settings),
        [zero_mask, ("ACME001", Level::Warning, Some(17))]
    );
    settings.levels.push(LevelSetting {
        selector: Selector::parse_in("printf-in-release", &settings.registry).unwrap(),
        level: Level::Allow,
        change: Change::Set,
    });
    assert_eq!(found(&settings), [zero_mask]);
    assert_eq!(found(&Settings::default()), [zero_mask]);
}
