//! Static checking of compiled GPU code.

fn main() {}
