// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

func factsToWire(v provider.Facts) *pb.Facts {
	return &pb.Facts{
		Name:         text(v.Name),
		Version:      text(v.Version),
		Templates:    list(v.Templates, templateToWire),
		Names:        list(v.Names, nameRuleToWire),
		NodePrefixes: list(v.NodePrefixes, text),
		Kinds:        list(v.Kinds, kindToWire),
		Credentials:  list(v.Credentials, text),
	}
}

func factsFromWire(m *pb.Facts) provider.Facts {
	return provider.Facts{
		Name:         m.GetName(),
		Version:      m.GetVersion(),
		Templates:    list(m.GetTemplates(), templateFromWire),
		Names:        list(m.GetNames(), nameRuleFromWire),
		NodePrefixes: list(m.GetNodePrefixes(), same),
		Kinds:        list(m.GetKinds(), kindFromWire),
		Credentials:  list(m.GetCredentials(), same),
	}
}

func templateToWire(v provider.Template) *pb.Template {
	return &pb.Template{
		Name:      text(v.Name),
		Title:     text(v.Title),
		Variables: v.Variables,
		Prices:    list(v.Prices, priceToWire),
		Guarded:   list(v.Guarded, text),
	}
}

func templateFromWire(m *pb.Template) provider.Template {
	return provider.Template{
		Name:      m.GetName(),
		Title:     m.GetTitle(),
		Variables: rawFromWire(m.GetVariables()),
		Prices:    list(m.GetPrices(), priceFromWire),
		Guarded:   list(m.GetGuarded(), same),
	}
}

func priceToWire(v provider.Price) *pb.Price {
	return &pb.Price{
		Item:               text(v.Item),
		Region:             text(v.Region),
		HourlyMicroUsd:     usdToWire(v.Hourly),
		MonthlyCapMicroUsd: pointer(v.MonthlyCap, usdToWire),
		Count:              v.Count,
		AsOf:               timeToWire(v.AsOf),
		Source:             text(v.Source),
	}
}

func priceFromWire(m *pb.Price) provider.Price {
	return provider.Price{
		Item:       m.GetItem(),
		Region:     m.GetRegion(),
		Hourly:     usdFromWire(m.GetHourlyMicroUsd()),
		MonthlyCap: optionalUSD(m, func(m *pb.Price) *int64 { return m.MonthlyCapMicroUsd }),
		Count:      m.GetCount(),
		AsOf:       timeFromWire(m.GetAsOf()),
		Source:     m.GetSource(),
	}
}

func nameRuleToWire(v provider.NameRule) *pb.NameRule {
	return &pb.NameRule{
		What:      text(v.What),
		Pattern:   text(v.Pattern),
		MaxLength: v.MaxLength,
		Why:       text(v.Why),
	}
}

func nameRuleFromWire(m *pb.NameRule) provider.NameRule {
	return provider.NameRule{
		What:      m.GetWhat(),
		Pattern:   m.GetPattern(),
		MaxLength: m.GetMaxLength(),
		Why:       m.GetWhy(),
	}
}

func kindToWire(v provider.Kind) *pb.Kind {
	return &pb.Kind{
		Name:  text(v.Name),
		Title: text(v.Title),
	}
}

func kindFromWire(m *pb.Kind) provider.Kind {
	return provider.Kind{
		Name:  m.GetName(),
		Title: m.GetTitle(),
	}
}

// DescriptionToWire converts on the way out.
func DescriptionToWire(v provider.Description) *pb.DescribeResponse {
	return &pb.DescribeResponse{
		Facts:        factsToWire(v.Facts),
		Capabilities: list(v.Capabilities, capabilities().toWire),
	}
}

// DescriptionFromWire converts on the way in. A capability that this side does not know is left out: the host can't use it.
func DescriptionFromWire(m *pb.DescribeResponse) provider.Description {
	known := slices.DeleteFunc(list(m.GetCapabilities(), capabilities().fromWire), func(c provider.Capability) bool { return c == "" })
	if len(known) == 0 {
		known = nil
	}
	return provider.Description{Facts: factsFromWire(m.GetFacts()), Capabilities: known}
}
