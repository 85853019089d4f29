//! Tests of the agent of asynchronous operations.

use ptxcheck_ir::{AsyncGroup, FunctionId, InstructionId};

use super::{Agent, words};
use crate::mbarrier::{Effect, Phase};
use crate::outcome::AsyncWrong;
use crate::site::{Context, Point};

const BULK: AsyncGroup = AsyncGroup::Bulk;

fn at(number: usize) -> Point {
    Point {
        context: Context::default(),
        function: FunctionId::new(0),
        instruction: InstructionId::new(number),
    }
}

fn wrongs(agent: &Agent) -> Vec<(usize, AsyncWrong)> {
    let found = agent.wrongs.iter();
    found
        .map(|(point, wrong)| (point.instruction.index(), *wrong))
        .collect()
}

#[test]
fn a_store_is_seen_behind_a_fence_of_the_writer_or_the_sender() {
    let tile = words(0, 64);
    for (fences, wrong) in [
        ([true, false], false),
        ([false, true], false),
        ([false, false], true),
    ] {
        let mut agent = Agent::new(32);
        agent.store(1, at(0), &tile);
        if fences[0] {
            agent.fence(1);
        }
        agent.meet(&[0, 1]);
        if fences[1] {
            agent.fence(0);
        }
        agent.reads(0, at(1), BULK, &tile);
        assert_eq!(
            wrongs(&agent).contains(&(1, AsyncWrong::Unfenced)),
            wrong,
            "{fences:?}"
        );
    }
    // A fence of a thread that has not met the writer orders nothing of it.
    let mut agent = Agent::new(32);
    agent.store(1, at(0), &tile);
    agent.fence(0);
    agent.meet(&[0, 1]);
    agent.reads(0, at(1), BULK, &tile);
    assert_eq!(wrongs(&agent), [(1, AsyncWrong::Unfenced)]);
}

#[test]
fn groups_are_counted_by_thread_and_kind() {
    let mut agent = Agent::new(32);
    let tiles = [words(0, 16), words(64, 16)];
    for (number, tile) in tiles.iter().enumerate() {
        agent.store(0, at(number), tile);
        agent.fence(0);
        agent.reads(0, at(2), BULK, tile);
        agent.commit(0, BULK);
    }
    agent.wait(0, at(3), AsyncGroup::Element, Some(0), false);
    assert_eq!(wrongs(&agent), [(3, AsyncWrong::IdleWait)]);
    agent.wait(0, at(4), BULK, Some(1), true);
    agent.store(0, at(5), &tiles[0]);
    agent.store(0, at(6), &tiles[1]);
    // Others do not know of the wait before they meet.
    agent.store(1, at(7), &tiles[0]);
    agent.meet(&[0, 1]);
    agent.store(1, at(8), &tiles[0]);
    let later = &wrongs(&agent)[1..];
    assert_eq!(
        later,
        [
            (6, AsyncWrong::SourceOverwritten),
            (7, AsyncWrong::SourceOverwritten)
        ]
    );
}

#[test]
fn a_phase_is_complete_with_all_arrivals_and_bytes() {
    let mut agent = Agent::new(32);
    let tile = words(0, 16);
    agent.arrive((0, at(0)), 96, (1, false), 0);
    agent.init(at(1), 96, 1);
    agent.fills_words(0, at(2), &tile, Some((96, 16)));
    agent.load(0, at(3), &tile);
    agent.arrive((0, at(4)), 96, (1, false), 16);
    let test = |agent: &mut Agent, parity| agent.test(1, at(5), 96, Phase::Parity(parity));
    assert_eq!(test(&mut agent, 0), Some(false));
    assert!(agent.is_stalled(1, at(5)));
    assert_eq!([agent.perform(), agent.perform()], [Some(Effect::Known), None]);
    assert!(!agent.is_stalled(1, at(5)));
    assert_eq!(test(&mut agent, 0), Some(true));
    agent.load(1, at(6), &tile);
    assert_eq!(test(&mut agent, 1), Some(false));
    assert!(agent.is_hung());
    assert_eq!(
        wrongs(&agent),
        [
            (0, AsyncWrong::Uninitialised),
            (3, AsyncWrong::ReadEarly),
            (5, AsyncWrong::NeverComplete)
        ]
    );
}

#[test]
fn other_bytes_are_told_at_the_end() {
    let mut agent = Agent::new(32);
    agent.init(at(1), 96, 1);
    agent.arrive((0, at(2)), 96, (1, false), 32);
    agent.fills_words(0, at(3), &words(0, 16), Some((96, 16)));
    agent.finish();
    assert_eq!(wrongs(&agent), [(1, AsyncWrong::OtherBytes)]);
}
