//! The pages about rules on a site of the documentation.

use ptxcheck_passes::rule::Rule;
use ptxcheck_passes::rules;

/// The address of a site of the documentation, if one is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePages {
    base: Option<String>,
}

impl RulePages {
    /// The pages of the site at an address; none if it is no address that a link can have.
    #[must_use]
    pub fn at(base: &str) -> Option<Self> {
        let base = base.trim_end_matches('/');
        let schemes = ["https://", "http://", "file:///"];
        let has_scheme = schemes
            .iter()
            .any(|scheme| base.len() > scheme.len() && base.starts_with(scheme));
        let is_plain = base
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"'<>`\\^{|}".contains(&byte));
        (has_scheme && is_plain).then(|| Self {
            base: Some(base.to_owned()),
        })
    }

    /// The address of the site.
    #[must_use]
    pub fn site(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The address of the page about a rule. A rule of a program's own has none.
    #[must_use]
    pub fn of(&self, rule: &Rule) -> Option<String> {
        let base = self.base.as_deref()?;
        (!rules::documentation(rule.code).is_empty()).then(|| format!("{base}/rules/{}.html", rule.code))
    }

    /// `text` as a link of a terminal (OSC 8) to the page about a rule, or as it is.
    #[must_use]
    pub fn link(&self, text: &str, rule: &Rule) -> String {
        match self.of(rule) {
            Some(address) => format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::rules;

    use super::RulePages;

    #[test]
    fn a_code_is_a_link_to_its_page() {
        let rule = rules::find("PTX401").unwrap();
        let pages = RulePages::at("https://docs.example/ptxcheck/").unwrap();
        assert_eq!(pages.site(), Some("https://docs.example/ptxcheck"));
        assert_eq!(
            pages.link("PTX401", rule),
            "\x1b]8;;https://docs.example/ptxcheck/rules/PTX401.html\x1b\\PTX401\x1b]8;;\x1b\\"
        );
        assert_eq!(RulePages::default().link("PTX401", rule), "PTX401");
    }

    #[test]
    fn an_address_has_a_scheme_and_nothing_that_ends_a_link() {
        for wrong in [
            "",
            "https://",
            "docs",
            "javascript:x",
            "https://x/\x1b\\",
            "https://x/a b",
            "https://x/\"><a",
        ] {
            assert_eq!(RulePages::at(wrong), None, "{wrong}");
        }
        assert!(RulePages::at("file:///srv/docs").is_some());
    }
}
