//! Maps whose keys come from inputs.
//!
//! Their hashes have a key that is drawn anew for each map, so that nobody can write an input whose names all fall
//! together. Numbers that we make ourselves go into the maps of `rustc-hash`, which are faster.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// Hashes of whole texts, with a key that is drawn anew for each, so that nobody can write two texts that are taken for one.
pub type TextHasher = foldhash::quality::RandomState;

/// By name. Not in a fixed order: reported data is kept in lists.
pub type NameMap<K, V> = HashMap<K, V, RandomState>;

/// Names.
pub type NameSet<K> = HashSet<K, RandomState>;

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::NameMap;

    #[test]
    fn each_map_has_a_key_of_its_own() {
        let hash = || NameMap::<&str, ()>::default().hasher().hash_one("name");
        let first = hash();
        assert!((0..64).any(|_| hash() != first));
    }
}
