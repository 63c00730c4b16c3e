// Variables of a dashboard put into texts and links, in the formats our dashboards use.

const REFERENCE = /\$\{([\w.]+|__data\.fields(?:\.\w+|\[[^\]]+\]))(?::(\w+))?\}|\$(\w+)/g;

const listOf = (value) => (Array.isArray(value) ? value : [value]);

function cell(path, context) {
  const name = path.replace(/^__data\.fields\.?/, '').replace(/^\[["']?|["']?\]$/g, '');
  const field = context?.frame?.fields.find((one) => one.name === name || one.config?.displayName === name);
  const value = field?.values[context.rowIndex ?? 0];
  return value ?? '';
}

function formatted(name, value, format) {
  if (format === 'queryparam') return listOf(value).map((one) => `var-${name}=${encodeURIComponent(one)}`).join('&');
  if (format === 'uriencode' || format === 'percentencode') return encodeURIComponent(listOf(value).join(','));
  return listOf(value).join(',');
}

/** A function that replaces references as Grafana does: variables, the time range, cells of the row of a link. */
export function replacer(variables, from, to) {
  return (text, scopedVars, format) =>
    String(text ?? '').replace(REFERENCE, (whole, braced, ownFormat, bare) => {
      const name = braced ?? bare;
      if (name === '__url_time_range') return `from=${from}&to=${to}`;
      if (name.startsWith('__data.fields')) {
        const value = cell(name, scopedVars?.__dataContext?.value);
        return typeof format === 'string' && format === 'uriencode' ? encodeURIComponent(value) : String(value);
      }
      if (scopedVars?.[name]) return String(scopedVars[name].value);
      const variable = variables[name];
      return variable ? formatted(name, variable.value, ownFormat) : whole;
    });
}
