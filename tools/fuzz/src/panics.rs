//! The place of the last panic: the library catches panics, and keeps their message but not their place.

use std::sync::{Mutex, PoisonError};

static PLACE: Mutex<String> = Mutex::new(String::new());

/// From now on panics print nothing, and their places are kept.
pub fn keep_places() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()))
            .unwrap_or_default();
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// The place of the last one, with a word before it; empty without one.
pub fn place() -> String {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
