// Exits with 0 when the gateway in this container answers. It does not read the configuration file: SLUICE_HEALTH_URL is for a port from there,
// another address than 127.0.0.1, and TLS.
const { SLUICE_HEALTH_URL, SLUICE__SERVER__PORT, PORT } = process.env
const url = SLUICE_HEALTH_URL || `http://127.0.0.1:${SLUICE__SERVER__PORT || PORT || 8787}/health/live`
try {
  const { ok } = await fetch(url, { signal: AbortSignal.timeout(4000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
