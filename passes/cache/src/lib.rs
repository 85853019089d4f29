//! A folder of results, each kept under the digest of all that it was computed from.
//!
//! ```text
//! FOLDER/CACHEDIR.TAG     says to backup programs that the folder can be made again
//! FOLDER/3f/a9…           one result: the digest of its bytes, and the bytes
//! ```
//!
//! The first byte of a key chooses one of 256 drawers. A result is written to a file of its own and renamed, so that a reader sees all of it
//! or nothing, and programs may share the folder. A result whose digest differs, or that cannot be read, counts as missing. Each drawer holds a
//! 256th of the size limit: a result that is put into a full drawer takes the place of those that were not used for longest.
//!
//! Nothing here fails: a folder that cannot be written keeps nothing.
//!
//! ```
//! use ptxcheck_cache::{Cache, Key};
//!
//! let folder = tempfile::tempdir()?;
//! let cache = Cache::open(folder.path().join("results"), 1 << 20)?;
//! let key = Key::of(&[b"the program", b"the input"]);
//! assert_eq!(cache.find(key), None);
//! cache.keep(key, b"the result");
//! assert_eq!(cache.find(key).as_deref(), Some(&b"the result"[..]));
//! # Ok::<(), std::io::Error>(())
//! ```

#![warn(unreachable_pub, unnameable_types)]

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Number of folders that the results are spread over.
const DRAWERS: u64 = 256;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// The time for which a result that is used need not be marked as used again.
const USE_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The age at which a file that a program did not finish writing is removed.
const UNFINISHED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The first letters of the names of files that are being written.
const UNFINISHED: &str = "new-";

/// The file that marks the folder (<https://bford.info/cachedir/>).
const TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results of ptxcheck, which it makes again.\n",
);

/// The digest of all that a result was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; DIGEST_BYTES]);

impl Key {
    /// The key of some parts: other parts, or the same bytes divided in another way, have another one.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The key with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be a part of another key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    drawer_bytes: u64,
}

impl Cache {
    /// The cache in a folder, which is made if it is missing, with at most so many bytes of results.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or no file can be written to it.
    pub fn open(folder: PathBuf, bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let tag = folder.join(TAG.0);
        if !tag.exists() {
            write_whole(&folder, &tag, &[TAG.1.as_bytes()])?;
        }
        Ok(Self {
            folder,
            drawer_bytes: bytes / DRAWERS,
        })
    }

    /// The result that is kept under a key.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.path_of(key)).ok()?;
        let about = file.metadata().ok()?;
        if about.len() > self.drawer_bytes {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).ok()?);
        (&mut file).take(self.drawer_bytes).read_to_end(&mut bytes).ok()?;
        let (digest, result) = bytes.split_first_chunk::<DIGEST_BYTES>()?;
        if blake3::hash(result) != *digest {
            return None;
        }
        let now = SystemTime::now();
        let is_old = about
            .modified()
            .is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > USE_INTERVAL));
        if is_old {
            // Without the permission it counts as older than it is.
            let _ = file.set_modified(now);
        }
        bytes.drain(..DIGEST_BYTES);
        Some(bytes)
    }

    /// Keeps a result under a key, if it is not larger than a drawer.
    pub fn keep(&self, key: Key, result: &[u8]) {
        let bytes = (result.len() + DIGEST_BYTES) as u64;
        if bytes > self.drawer_bytes {
            return;
        }
        let path = self.path_of(key);
        let Some(drawer) = path.parent() else { return };
        let digest = blake3::hash(result);
        let written = fs::create_dir_all(drawer)
            .and_then(|()| write_whole(drawer, &path, &[digest.as_bytes(), result]));
        if written.is_ok() {
            empty_drawer(drawer, &path, self.drawer_bytes);
        }
    }

    fn path_of(&self, Key(digest): Key) -> PathBuf {
        let name = blake3::Hash::from_bytes(digest).to_hex();
        let (drawer, rest) = name.as_str().split_at(2);
        self.folder.join(drawer).join(rest)
    }
}

/// Writes a file so that no reader sees a part of it.
fn write_whole(folder: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.persist(path)?;
    Ok(())
}

/// Removes results, those that were not used for longest first, until the drawer holds three quarters of its bytes at most, if it holds
/// more than its bytes; and files that a program did not finish. `new` stays.
fn empty_drawer(drawer: &Path, new: &Path, most: u64) {
    let Ok(entries) = fs::read_dir(drawer) else {
        return;
    };
    let now = SystemTime::now();
    let mut results = Vec::new();
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            if now.duration_since(used).is_ok_and(|age| age > UNFINISHED_AGE) {
                let _ = fs::remove_file(path);
            }
            continue;
        }
        results.push((used, about.len(), path));
    }
    let mut total: u64 = results.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= most {
        return;
    }
    results.sort_unstable();
    for (_, bytes, path) in results {
        if total <= most / 4 * 3 {
            break;
        }
        // Another program may have removed it.
        if path != new && fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("a/b"), bytes).unwrap();
        (folder, cache)
    }

    fn numbered_key(number: u32) -> Key {
        Key::of(&[&number.to_le_bytes()])
    }

    /// Sizes of the kept files, and of unfinished ones.
    fn files(cache: &Cache) -> (Vec<u64>, usize) {
        let drawers = fs::read_dir(&cache.folder).unwrap().flatten();
        let files = drawers
            .filter(|drawer| drawer.path().is_dir())
            .flat_map(|drawer| fs::read_dir(drawer.path()).unwrap().flatten());
        let (unfinished, kept): (Vec<_>, Vec<_>) =
            files.partition(|file| file.file_name().to_string_lossy().starts_with(UNFINISHED));
        let sizes = kept.iter().map(|file| file.metadata().unwrap().len());
        (sizes.collect(), unfinished.len())
    }

    #[test]
    fn results_are_found_by_their_keys() {
        let (_folder, cache) = cache(1 << 20);
        cache.keep(numbered_key(1), b"one");
        cache.keep(numbered_key(2), b"");
        assert_eq!(cache.find(numbered_key(1)).unwrap(), b"one");
        assert_eq!(cache.find(numbered_key(2)).unwrap(), b"");
        assert_eq!(cache.find(numbered_key(3)), None);
        cache.keep(numbered_key(1), b"another");
        assert_eq!(cache.find(numbered_key(1)).unwrap(), b"another");
        assert!(cache.folder.join(TAG.0).is_file());
    }

    #[test]
    fn keys_depend_on_where_parts_end() {
        assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
        assert_ne!(Key::of(&[b"ab"]), Key::of(&[b"ab", b""]));
        assert_eq!(Key::of(&[b"ab", b"c"]), Key::of(&[b"ab", b"c"]));
    }

    #[test]
    fn a_damaged_result_is_missing_and_kept_anew() {
        let (_folder, cache) = cache(1 << 20);
        let key = numbered_key(7);
        cache.keep(key, b"result");
        let path = cache.path_of(key);
        let whole = fs::read(&path).unwrap();
        for damaged in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.find(key), None, "byte {damaged}");
            fs::write(&path, &whole[..damaged]).unwrap();
            assert_eq!(cache.find(key), None, "cut at {damaged}");
        }
        cache.keep(key, b"result");
        assert_eq!(cache.find(key).unwrap(), b"result");
    }

    #[test]
    fn the_limit_holds_and_what_was_used_stays() {
        let (_folder, cache) = cache(256 * 4_000);
        let start = SystemTime::now() - Duration::from_secs(1_000_000);
        for number in 0..2_000 {
            let key = numbered_key(number);
            cache.keep(key, &[7; 1_000 - DIGEST_BYTES]);
            if let Ok(file) = File::open(cache.path_of(key)) {
                file.set_modified(start + Duration::from_secs(number.into()))
                    .unwrap();
            }
            // The first one is used all the time.
            assert!(cache.find(numbered_key(0)).is_some(), "{number}");
        }
        let (sizes, unfinished) = files(&cache);
        assert!(sizes.iter().sum::<u64>() <= 256 * 4_000);
        assert!(sizes.len() > 256, "{}", sizes.len());
        assert_eq!(unfinished, 0);
        assert!(cache.find(numbered_key(1_999)).is_some());
    }

    #[test]
    fn a_result_larger_than_a_drawer_is_not_kept() {
        let (_folder, cache) = cache(256 * 100);
        cache.keep(numbered_key(1), &[0; 100]);
        assert_eq!(cache.find(numbered_key(1)), None);
        cache.keep(numbered_key(1), &[0; 100 - DIGEST_BYTES]);
        assert!(cache.find(numbered_key(1)).is_some());
    }

    #[test]
    fn old_unfinished_files_go() {
        let (_folder, cache) = cache(1 << 20);
        let key = numbered_key(1);
        let drawer = cache.path_of(key).parent().unwrap().to_path_buf();
        fs::create_dir_all(&drawer).unwrap();
        let old = SystemTime::now() - 2 * UNFINISHED_AGE;
        for (name, modified) in [("new-a", old), ("new-b", SystemTime::now())] {
            let file = File::create(drawer.join(name)).unwrap();
            file.set_modified(modified).unwrap();
        }
        cache.keep(key, b"result");
        assert_eq!(files(&cache).1, 1);
    }

    #[test]
    fn threads_and_programs_share_a_folder() {
        let (_folder, cache) = cache(256 * 2_000);
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let cache = cache.clone();
                scope.spawn(move || {
                    for number in 0..500 {
                        let key = numbered_key(number % 50);
                        let result = [(number % 50) as u8; 300];
                        if (number + thread) % 3 == 0 {
                            cache.keep(key, &result);
                        } else if let Some(found) = cache.find(key) {
                            assert_eq!(found, result);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        assert!(Cache::open(file.join("cache"), 1 << 20).is_err());
        assert!(Cache::open(file, 1 << 20).is_err());
    }

    #[test]
    fn a_folder_that_is_gone_keeps_nothing_and_does_not_fail() {
        let (folder, cache) = cache(1 << 20);
        drop(folder);
        cache.keep(numbered_key(1), b"x");
        // It was made again, or could not be: both are right.
        let _ = cache.find(numbered_key(1));
    }
}
