// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import "darkshift.io/infrared/sdk/provider"

// The functions here say what a check needs of the world, each under the name of World's field.

func needRecorded() need {
	return need{"Recorded", func(b *bench) bool { return len(b.Recorded) > 0 }}
}

func needConnect() need { return need{"Connect", func(b *bench) bool { return b.Connect != nil }} }

func needCredentials() need {
	return need{"Credentials", func(b *bench) bool { return !b.Credentials.IsZero() }}
}

func needBadCredentials() need {
	return need{"BadCredentials", func(b *bench) bool { return !b.BadCredentials.IsZero() }}
}

func needUnpriced() need {
	return need{"Unpriced", func(b *bench) bool { return len(b.Unpriced) > 0 }}
}

func needDisks() need { return need{"Disks", func(b *bench) bool { return len(b.Disks) > 1 }} }

func needStrange() need { return need{"Strange", func(b *bench) bool { return b.Strange != nil }} }

func needBuild() need { return need{"Build", func(b *bench) bool { return b.Build != nil }} }

func needRebuild() need { return need{"Rebuild", func(b *bench) bool { return b.Rebuild != nil }} }

func needBadBuild() need { return need{"BadBuild", func(b *bench) bool { return b.BadBuild != nil }} }

func needReachable() need { return need{"Reachable", func(b *bench) bool { return b.Reachable }} }

func needTenant() need { return need{"Tenant", func(b *bench) bool { return b.Tenant != nil }} }

func needAgain() need { return need{"Again", func(b *bench) bool { return b.Again != nil }} }

func needThings() need { return need{"Things", func(b *bench) bool { return b.Things != nil }} }

func needRemove() need { return need{"Remove", func(b *bench) bool { return b.Remove != nil }} }

func needDelete() need { return need{"Delete", func(b *bench) bool { return b.Delete != nil }} }

func needStrangers() need {
	return need{"Strangers", func(b *bench) bool { return b.Strangers != nil }}
}

func needCanWrite() need { return need{"CanWrite", func(b *bench) bool { return b.CanWrite != nil }} }

func needOutput() need { return need{"Output", func(b *bench) bool { return b.Output != nil }} }

func needTrouble(t Trouble) need {
	return need{"Trouble[" + string(t) + "]", func(b *bench) bool { return b.Trouble[t] != nil }}
}

// needAccounts is an account, and a provider that has the verbs for it.
func needAccounts() need {
	return need{"Account", func(b *bench) bool {
		_, ok := b.Provider.(provider.Accounts)
		return ok && b.Account != nil
	}}
}

// needNoTemplates is a provider that says it builds nothing.
func needNoTemplates() need {
	return need{"Facts without Templates", func(b *bench) bool { return len(b.facts.Templates) == 0 }}
}
