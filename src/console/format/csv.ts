/** Rows as RFC 4180. */
export function csvText(rows: ReadonlyArray<ReadonlyArray<string | number>>): string {
  return rows.map((row) => row.map(cellOf).join(',')).join('\r\n')
}

/** Spreadsheets run what begins like a formula; a number is none. */
function cellOf(value: string | number): string {
  const isFormula = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value)
  const text = isFormula ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
