{{- define "taskyard.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "taskyard.labels" -}}
app.kubernetes.io/name: taskyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "taskyard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "taskyard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- define "taskyard.env" -}}
- name: TASKYARD_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.yard.secret | quote }}, key: url}}
- {name: TASKYARD_ARTIFACTS, value: {{ .Values.yard.artifacts | quote }}}
{{- with .Values.yard.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
