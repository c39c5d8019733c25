package delta

// keyword is a keyword of JSON Schema in the spelling of 2020-12. The zero
// keyword is one that no vocabulary defines, or a text: it says nothing about
// what is admitted.
type keyword uint8

const (
	kwText keyword = iota
	// What holds one value.
	kwType
	kwEnum
	kwConst
	kwDefault
	kwMinimum
	kwExclusiveMinimum
	kwMaximum
	kwExclusiveMaximum
	kwMultipleOf
	kwMinLength
	kwMaxLength
	kwMinItems
	kwMaxItems
	kwUniqueItems
	kwMinProperties
	kwMaxProperties
	kwMinContains
	kwMaxContains
	kwPattern
	kwFormat
	kwContentEncoding
	kwContentMediaType
	kwRequired
	kwDependentRequired
	kwNullable
	// What would need a validator of its own: reason "keyword".
	kwVocabulary
	kwRecursiveRef
	kwRecursiveAnchor
	kwPropertyDependencies
	kwExtends
	kwDisallow
	kwDivisibleBy
	kwFormatMinimum
	kwFormatMaximum
	kwFormatExclusiveMinimum
	kwFormatExclusiveMaximum
	// Where a schema stands and what it refers to.
	kwID
	kwSchema
	kwAnchor
	kwDynamicAnchor
	kwRef
	kwDynamicRef
	// What holds schemas.
	kwDefs
	kwProperties
	kwPatternProperties
	kwAdditionalProperties
	kwUnevaluatedProperties
	kwPropertyNames
	kwPrefixItems
	kwItems
	kwUnevaluatedItems
	kwContains
	kwContentSchema
	kwAllOf
	kwAnyOf
	kwOneOf
	kwNot
	kwIf
	kwThen
	kwElse
	kwDependentSchemas
	// Spellings of older drafts, which reading replaces.
	kwOldID
	kwDefinitions
	kwAdditionalItems
	kwDependencies
	keywords // how many there are
)

// keywordNames are the spellings, in the order of the constants.
var keywordNames = [keywords]string{
	"", "type", "enum", "const", "default", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains",
	"pattern", "format", "contentEncoding", "contentMediaType", "required", "dependentRequired", "nullable",
	"$vocabulary", "$recursiveRef", "$recursiveAnchor", "propertyDependencies", "extends", "disallow", "divisibleBy",
	"formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum",
	"$id", "$schema", "$anchor", "$dynamicAnchor", "$ref", "$dynamicRef",
	"$defs", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
	"prefixItems", "items", "unevaluatedItems", "contains", "contentSchema", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
	"id", "definitions", "additionalItems", "dependencies",
}

// keywordsByName finds a keyword by its spelling.
var keywordsByName = func() map[string]keyword {
	m := make(map[string]keyword, keywords)
	for k, name := range keywordNames {
		m[name] = keyword(k)
	}
	return m
}()

func (k keyword) String() string { return keywordNames[k] }

// keywordOf reads a keyword; case counts. Titles, descriptions, examples and
// everything that no vocabulary defines is kwText.
func keywordOf(name string) keyword { return keywordsByName[name] }

// opaque reports whether the keyword is one that is compared by value alone.
func (k keyword) opaque() bool { return k >= kwVocabulary && k <= kwFormatExclusiveMaximum }

// holdsOne reports whether the keyword holds exactly one schema.
func (k keyword) holdsOne() bool {
	switch k {
	case kwAdditionalProperties, kwUnevaluatedProperties, kwPropertyNames, kwItems, kwUnevaluatedItems, kwContains, kwContentSchema,
		kwNot, kwIf, kwThen, kwElse, kwAdditionalItems:
		return true
	default:
		return false
	}
}

// holdsList reports whether the keyword holds a list of schemas.
func (k keyword) holdsList() bool {
	return k == kwPrefixItems || k == kwAllOf || k == kwAnyOf || k == kwOneOf
}

// mapsNames reports whether the keyword maps names to schemas: a key there is a
// name, whatever it is called.
func (k keyword) mapsNames() bool {
	switch k {
	case kwDefs, kwDefinitions, kwProperties, kwPatternProperties, kwDependentSchemas, kwDependencies:
		return true
	default:
		return false
	}
}

// today is the spelling of 2020-12.
func (k keyword) today() keyword {
	if k == kwDefinitions {
		return kwDefs
	}
	return k
}
