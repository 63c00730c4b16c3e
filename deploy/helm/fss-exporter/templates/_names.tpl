{{- define "fss-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 56 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 56 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 56 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fss-exporter.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fss-exporter.labels" -}}
{{ include "fss-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fss-exporter
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "fss-exporter.serviceAccount" -}}
{{- if .Values.poller.serviceAccount.create -}}
{{- default (printf "%s-poller" (include "fss-exporter.fullname" .)) .Values.poller.serviceAccount.name -}}
{{- else -}}
{{- required "poller.serviceAccount.name: needed where create is false" .Values.poller.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fss-exporter.probes" -}}
{{- $scheme := .Values.monitors.scheme | upper -}}
{{- /* A kubelet has no client certificate to show: where scrapers bring one, it only sees that the port is open. */ -}}
{{- $tcp := or .Values.tcpProbes .Values.monitors.tlsConfig.cert .Values.monitors.tlsConfig.certFile -}}
livenessProbe:
  {{- if $tcp }}
  tcpSocket: {port: metrics}
  {{- else }}
  httpGet: {path: /-/healthy, port: metrics, scheme: {{ $scheme }}}
  {{- end }}
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  {{- if $tcp }}
  tcpSocket: {port: metrics}
  {{- else }}
  httpGet: {path: /-/ready, port: metrics, scheme: {{ $scheme }}}
  {{- end }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- define "fss-exporter.endpoint" -}}
port: metrics
path: /metrics
interval: {{ .Values.monitors.interval }}
scrapeTimeout: {{ .Values.monitors.scrapeTimeout }}
scheme: {{ .Values.monitors.scheme }}
{{- with .Values.monitors.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.monitors.basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Image of a component: the registry is left out where it is empty, for images that only the nodes hold. */ -}}
{{- define "fss-exporter.image" -}}
{{- $image := printf "%s:%s" .name (default .root.Chart.AppVersion .root.Values.image.tag) -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ $image }}
{{- end -}}

{{- /* Whether objects of the Prometheus operator are installed: "auto" asks the cluster for their definitions. */ -}}
{{- define "fss-exporter.operator" -}}
{{- if or (eq (toString .enabled) "true") (and (eq (toString .enabled) "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
yes
{{- end -}}
{{- end -}}
