import aws4 from 'aws4'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of credentials that were lent for a time; null: they are not. */
  readonly sessionToken: string | null
}

/** A request as it will be sent. */
export interface AwsRequest {
  readonly method: 'GET' | 'POST'
  /** Without a scheme; with the port unless it is the scheme's own. */
  readonly host: string
  /** Encoded as on the wire, query included. */
  readonly path: string
  readonly region: string
  readonly service: string
  /** Headers that are signed besides the host. */
  readonly headers: Readonly<Record<string, string>>
  /** The very bytes that are sent. */
  readonly body: Buffer
}

/**
 * The headers that sign a request by AWS Signature Version 4; they go out with those of `request.headers`. Valid for some
 * minutes around `now` (Unix ms), by the provider's clock.
 */
export function signAwsRequest(request: AwsRequest, credentials: AwsCredentials, now: number): Record<string, string> {
  const { method, host, path, region, service, body } = request
  const date = new Date(now).toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const token = credentials.sessionToken === null ? null : { 'x-amz-security-token': credentials.sessionToken }
  const signed: Record<string, string> = { 'x-amz-date': date, ...token }
  const headers = { host, ...request.headers, ...signed }
  const { accessKeyId, secretAccessKey } = credentials
  const options = { method, host, path, region, service, headers, ...(body.length > 0 ? { body } : null) }
  // The token is among the headers by now; the library must not look for credentials of its own.
  const result = aws4.sign(options, { accessKeyId, secretAccessKey }).headers ?? {}
  return { ...signed, authorization: String(result['Authorization']) }
}
