//! PTX text to a borrowed, flat syntax tree, and back.
