// Answers of Prometheus as data frames, as Grafana's documentation describes them for its Prometheus data source.
import { FieldType } from '@grafana/data';

const LABEL = /\{\{\s*(.+?)\s*\}\}/g;

/** A legend with its labels filled in; `__auto` is the name and labels of the series. */
export function legend(format, labels) {
  if (format === '__auto') {
    const others = Object.entries(labels).filter(([name]) => name !== '__name__');
    return `${labels.__name__ ?? ''}{${others.map(([name, value]) => `${name}="${value}"`).join(', ')}}`;
  }
  return format.replace(LABEL, (_, name) => labels[name] ?? '');
}

const asNumber = (text) => (text === 'NaN' ? NaN : text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

/** One frame for each series: a field of times and a field of values. */
function seriesFrames(target, answer) {
  return answer.series.map(({ metric, values }) => {
    const name = legend(target.legendFormat ?? '__auto', metric);
    return {
      refId: target.refId,
      name,
      length: values.length,
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval: answer.step * 1000 }, values: values.map(([time]) => time * 1000) },
        { name: 'Value', type: FieldType.number, labels: metric, config: { displayNameFromDS: name }, values: values.map(([, value]) => asNumber(value)) },
      ],
    };
  });
}

/** One frame for a whole answer: a row for each series, a column for each label in the order of the alphabet. */
function tableFrame(target, answer, single) {
  const labels = [...new Set(answer.series.flatMap(({ metric }) => Object.keys(metric)))].sort();
  const last = answer.series.map(({ values }) => values[values.length - 1]);
  return {
    refId: target.refId,
    length: last.length,
    fields: [
      { name: 'Time', type: FieldType.time, config: {}, values: last.map(([time]) => time * 1000) },
      ...labels.map((label) => ({
        name: label,
        type: FieldType.string,
        config: { filterable: true },
        values: answer.series.map(({ metric }) => metric[label] ?? ''),
      })),
      { name: single ? 'Value' : `Value #${target.refId}`, type: FieldType.number, config: {}, values: last.map(([, value]) => asNumber(value)) },
    ],
  };
}

/** One frame for a histogram: the upper edge of each bucket is the name of a field; counts are not cumulated. */
function heatmapFrame(target, answer) {
  const edge = ({ metric }) => asNumber(metric.le);
  const rows = [...answer.series].sort((one, other) => edge(one) - edge(other));
  const times = [...new Set(rows.flatMap(({ values }) => values.map(([time]) => time)))].sort((a, b) => a - b);
  const counts = rows.map(({ values }) => new Map(values.map(([time, value]) => [time, asNumber(value)])));
  return {
    refId: target.refId,
    length: times.length,
    fields: [
      { name: 'Time', type: FieldType.time, config: { interval: answer.step * 1000 }, values: times.map((time) => time * 1000) },
      ...rows.map((row, at) => ({
        name: legend(target.legendFormat ?? '__auto', row.metric),
        type: FieldType.number,
        labels: row.metric,
        config: {},
        values: times.map((time) => Math.max(0, (counts[at].get(time) ?? 0) - (at ? (counts[at - 1].get(time) ?? 0) : 0))),
      })),
    ],
  };
}

/** The frames of a panel before transformations and overrides. */
export function framesOf(panel, answers) {
  const answered = panel.targets.map((target) => [target, answers[target.refId]]).filter(([, answer]) => answer?.series.length);
  return answered.flatMap(([target, answer]) => {
    if (target.format === 'table') return [tableFrame(target, answer, panel.targets.length === 1)];
    if (target.format === 'heatmap') return [heatmapFrame(target, answer)];
    return seriesFrames(target, answer);
  });
}
