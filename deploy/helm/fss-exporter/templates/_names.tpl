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
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Service account of a component, empty for the default account of the namespace. */ -}}
{{- define "fss-exporter.serviceAccount" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-%s" (include "fss-exporter.fullname" .root) .component) $account.name -}}
{{- else -}}
{{- $account.name -}}
{{- end -}}
{{- end -}}

{{- define "fss-exporter.serviceAccountObject" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "fss-exporter.serviceAccount" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "fss-exporter.labels" .root | nindent 4 }}
  {{- with $account.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
---
{{- end }}
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
{{- with .Values.monitors.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Image of a component: the registry is left out where it is empty, for images that only the nodes hold. */ -}}
{{- define "fss-exporter.image" -}}
{{- $image := (index .root.Values .component).image -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}{{ end }}
{{- end -}}

{{- /* Whether objects of the Prometheus operator are installed: "auto" asks the cluster for their definitions. */ -}}
{{- define "fss-exporter.operator" -}}
{{- if or (eq (toString .enabled) "true") (and (eq (toString .enabled) "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
yes
{{- end -}}
{{- end -}}
