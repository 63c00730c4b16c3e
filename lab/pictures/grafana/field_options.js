// What a field may be set to, by the ids of Grafana's panels: defaults and overrides are applied through these registries.
import {
  FieldConfigOptionsRegistry, booleanOverrideProcessor, dataLinksOverrideProcessor, displayNameOverrideProcessor, identityOverrideProcessor,
  numberOverrideProcessor, standardTransformers, standardTransformersRegistry, stringOverrideProcessor, thresholdsOverrideProcessor,
  unitOverrideProcessor, valueMappingsOverrideProcessor,
} from '@grafana/data';

const STANDARD = {
  color: identityOverrideProcessor,
  decimals: numberOverrideProcessor,
  description: stringOverrideProcessor,
  displayName: displayNameOverrideProcessor,
  filterable: booleanOverrideProcessor,
  links: dataLinksOverrideProcessor,
  mappings: valueMappingsOverrideProcessor,
  max: numberOverrideProcessor,
  min: numberOverrideProcessor,
  noValue: stringOverrideProcessor,
  thresholds: thresholdsOverrideProcessor,
  unit: unitOverrideProcessor,
};

const CUSTOM = {
  timeseries: [
    'axisSoftMax', 'axisSoftMin', 'axisLabel', 'axisPlacement', 'drawStyle', 'fillBelowTo', 'fillOpacity', 'gradientMode', 'hideFrom',
    'lineInterpolation', 'lineStyle', 'lineWidth', 'pointSize', 'scaleDistribution', 'showPoints', 'spanNulls', 'stacking', 'thresholdsStyle',
  ],
  table: ['align', 'cellOptions', 'filterable', 'hidden', 'hideFrom', 'inspect', 'minWidth', 'width', 'wrapText'],
  stat: [],
  heatmap: ['hideFrom', 'scaleDistribution'],
};

const item = (id, path, process, isCustom) => ({
  id, path, isCustom, name: id, process, shouldApply: () => true, editor: () => null, override: () => null, getItemsCount: () => 0,
});

/** The options of a type of panel. */
export function optionsOf(type) {
  const standard = Object.entries(STANDARD).map(([id, process]) => item(id, id, process, false));
  const custom = CUSTOM[type].map((id) => item(`custom.${id}`, id, identityOverrideProcessor, true));
  return new FieldConfigOptionsRegistry(() => [...standard, ...custom]);
}

/** A transformation as Grafana 13 wants it, which loads it when it is needed, and as Grafana 10 does. */
const both = (transformation) => Object.defineProperties(async () => transformation, Object.getOwnPropertyDescriptors(transformation));

standardTransformersRegistry.setInit(() =>
  [...new Set(Object.values(standardTransformers))].map((transformation) => ({
    id: transformation.id, name: transformation.name, transformation: both(transformation), editor: () => null, aliasIds: [],
  })),
);
