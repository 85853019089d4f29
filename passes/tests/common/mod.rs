//! Settings that several tests share.

use ptxcheck_passes::settings::{Change, LevelSetting, Selector};
use ptxcheck_passes::{Level, Settings};

/// Settings with which potential findings are asked for, and so are conditional ones.
pub fn with_potential() -> Settings {
    Settings {
        levels: vec![LevelSetting {
            selector: Selector::POTENTIAL,
            level: Level::Warning,
            change: Change::Raise,
        }],
        ..Settings::default()
    }
}
