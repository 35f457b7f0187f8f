// Exits with 0 when the gateway in this container answers. Its port is PORT, or SLUICE_HEALTH_URL says where to ask.
const url = process.env.SLUICE_HEALTH_URL || `http://127.0.0.1:${process.env.PORT || 8787}/health/live`
try {
  const { ok } = await fetch(url, { signal: AbortSignal.timeout(4000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
