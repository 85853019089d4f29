//! The most that GitHub's code scanning takes and shows of a SARIF document ("SARIF results exceed one or more limits" and
//! "SARIF support for code scanning" in its documentation). A document beyond the first limit is refused, results beyond the second are
//! dropped; so we leave it out and say so.

/// Results of a run that are taken.
pub(super) const MAX_RESULTS: usize = 25_000;

/// Results of a run that are shown: the most severe.
pub(super) const SHOWN_RESULTS: usize = 5_000;

/// Rules of a run that are taken.
pub(super) const MAX_RULES: usize = 25_000;

/// Locations of a result that are shown, related ones among them; 1,000 are taken.
pub(super) const SHOWN_LOCATIONS: usize = 100;

/// Locations of the flows of a result that are shown; 10,000 are taken.
pub(super) const SHOWN_FLOW_LOCATIONS: usize = 1_000;

/// Tags of a rule that are shown; 20 are taken.
pub(super) const SHOWN_TAGS: usize = 10;

/// Bytes of a document that are taken, compressed with gzip: 10 MB. A little less, as other compressors pack a little worse.
pub(super) const MAX_PACKED_BYTES: usize = 9_500_000;

/// Characters of a rule's name.
pub(super) const NAME_CHARACTERS: usize = 255;

/// Characters of a rule's short and full descriptions.
pub(super) const DESCRIPTION_CHARACTERS: usize = 1_024;

/// Characters of a message. Not GitHub's: a reader's.
pub(super) const MESSAGE_CHARACTERS: usize = 4_000;

/// Notifications of a kind; a count stands for the rest. Not GitHub's either.
pub(super) const MAX_NOTIFICATIONS: usize = 1_000;
