# ptxcheck.mk: make checks device code after it is compiled. For GNU make.
#
#   include ptxcheck.mk
#   all: app $(call ptxcheck,$(OBJECTS))
#
# README.md beside this file describes it. What may be set, before the include or on the command line:
#
#   PTXCHECK          the program
#   PTXCHECKFLAGS     options of `ptxcheck check`
#   PTXCHECK_CONFIG   the configuration; by default the nearest ptxcheck.toml at or above make's folder
#   PTXCHECK_COMPILE  the command that makes an object, which is $<: objects without PTX are checked by running it again

PTXCHECK ?= ptxcheck
PTXCHECKFLAGS ?=

# As relative paths: a blank in the folder's own path would be two names to make.
ptxcheck-above := . .. ../.. ../../.. ../../../.. ../../../../.. ../../../../../.. ../../../../../../..
PTXCHECK_CONFIG ?= $(firstword $(wildcard $(addsuffix /ptxcheck.toml,$(ptxcheck-above))))

ifneq ($(filter-out $(wildcard $(PTXCHECK_CONFIG)),$(PTXCHECK_CONFIG)),)
  $(error PTXCHECK_CONFIG: there is no $(PTXCHECK_CONFIG))
endif

# Another program checks anew.
ptxcheck-program := $(shell command -v $(firstword $(PTXCHECK)) 2>/dev/null)
ptxcheck-program := $(if $(word 2,$(ptxcheck-program)),,$(wildcard $(ptxcheck-program)))

# The stamps of files with device code. Without a word about the files themselves, make would delete those that only stamps name.
ptxcheck = $(if $(strip $(1)),$(eval .SECONDARY: $(1)))$(addsuffix .ptxcheck,$(1))

# A command as a text of JSON.
ptxcheck-quoted = $(subst ",\",$(subst \,\\,$(strip $(1))))

# The list of compile commands of one object.
define ptxcheck-entry
[{"directory": "$(call ptxcheck-quoted,$(CURDIR))", "file": "$<", "output": "$<", "command": "$(call ptxcheck-quoted,$(PTXCHECK_COMPILE))"}]
endef

ptxcheck-options = -q -j 1 $(if $(PTXCHECK_CONFIG),--config $(PTXCHECK_CONFIG))
ptxcheck-options += $(if $(PTXCHECK_COMPILE),--compile-commands $@.json) $(PTXCHECKFLAGS)

%.ptxcheck: % $(PTXCHECK_CONFIG) $(ptxcheck-program)
	$(if $(PTXCHECK_COMPILE),$(file >$@.json,$(ptxcheck-entry)))$(PTXCHECK) check $(ptxcheck-options) $<
	@touch $@
